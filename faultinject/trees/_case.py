"""One run of the target as a tree of processes: from its start until nothing is left of it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import time
from typing import Any, Final

import msgspec

from faultinject.trees import _shm
from faultinject.trees._agent._trust import SOCKET
from faultinject.trees._declared import CALLER, EXIT, READY, is_of
from faultinject.trees._ending import end_all, observe
from faultinject.trees._fault import TreeFault, parse_tree_fault
from faultinject.trees._members import Member, Members, is_descendant
from faultinject.trees._messages import MilestoneSeen, Run, TreeObservation
from faultinject.trees._sending import HAD_ENDED, send_signal

_TICK: Final = 0.05
"""Seconds between two looks for what does not announce itself: a process without an agent."""
_LARGEST: Final = 1 << 20


class Gone(Exception):
    """The sweep that this conductor works for is gone."""


class TreeCase:
    """Conducts one run.

    Args:
        order: what to do where.
        members: the processes, empty.
        listener: where the agents connect.
        control: closes at its other end when the sweep ends.
        directory: of this case: plan, socket, log, and the temporary directory of the tree.
        private: whether ``/dev/shm`` is this conductor's own.
    """

    def __init__(
        self,
        order: Run,
        members: Members,
        listener: socket.socket,
        control: socket.socket,
        directory: str,
        private: bool,
    ) -> None:
        self.order = order
        self.fault: TreeFault | None = parse_tree_fault(order.fault) if order.fault else None
        self.members = members
        self.listener = listener
        self.control = control
        self.directory = directory
        self.private = private
        self.poll = select.poll()
        self.connections: dict[int, socket.socket] = {}
        self.waiting: list[tuple[socket.socket, Member]] = []
        """Who waits at the milestone until the process to do the fault to is up."""
        self.started = time.monotonic()
        self.timeline: list[tuple[float, str]] = []
        self.milestones: list[MilestoneSeen] = []
        self.missing: list[str] = []
        self.facts: dict[str, Any] = {}
        """Fields of the observation, as they become known."""
        self.refused = 0
        self.fault_at: float | None = None
        self.progress_at = self.started
        self.continue_at: tuple[float, Member] | None = None
        self.continue_on: tuple[str, str, Member] | None = None
        self.names_before = set(_shm.sizes())
        self.watched = 0
        """How many of the members are waited for."""

    def run(self, caller: int) -> TreeObservation:
        """Conduct until it is over, observe, end what is left.

        Raises:
            Gone: as soon as the sweep is.
        """
        self.members.look()
        root = self.members.find(caller)
        if root is not None:
            root.role = CALLER
        for one in (self.listener, self.control):
            self.poll.register(one, select.POLLIN | select.POLLHUP)
        try:
            while not self._is_over():
                self._step()
            return self._observed(root)
        finally:
            for connection in self.connections.values():
                connection.close()

    def _step(self) -> None:
        for descriptor, _ in self.poll.poll(_TICK * 1000):
            if descriptor == self.control.fileno():
                raise Gone
            if descriptor == self.listener.fileno():
                self._accept()
            elif descriptor in self.connections:
                self._hear(self.connections[descriptor])
            else:
                self.poll.unregister(descriptor)
        self.members.look()
        self.members.reap()
        for member in self.members.all[self.watched :]:
            # Its end is an event; waking for it is what makes a case as short as it can be.
            self.poll.register(member.handle, select.POLLIN)
        self.watched = len(self.members.all)
        self._continue_in_time()
        self._try_waiting()

    def _is_over(self) -> bool:
        now = time.monotonic()
        if not any(True for _ in self.members.living()):
            return bool(self.members.all) or now > self.started + 1.0
        if self.fault_at is not None:
            since = self.fault_at
            if self.fault is not None and (not self.fault.ends):
                # It may be swallowed, rightly: a start-up that goes on has not hung.
                since = max(since, self.progress_at)
            if now > since + self.order.deadline:
                return True
        if now > self.started + self.order.limit:
            self.facts["timed_out"] = True
            return True
        return False

    def _accept(self) -> None:
        connection, _ = self.listener.accept()
        pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if uid != os.geteuid() or not is_descendant(pid):
            self.refused += 1
            connection.close()
            return
        self.connections[connection.fileno()] = connection
        self.poll.register(connection, select.POLLIN)

    def _hear(self, connection: socket.socket) -> None:
        pid, *_ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        try:
            data = connection.recv(_LARGEST)
            message = json.loads(data) if data else None
        except (OSError, ValueError):
            message = None
        member = self.members.find(pid)
        if not isinstance(message, dict) or member is None:
            self._answer(connection, {})
            return
        kind = message.get("kind")
        if kind == "hello":
            member.argv = " ".join(map(str, message.get("argv", ())))
            member.helper = str(message.get("helper", ""))
            if member.helper:
                member.role = member.helper.rpartition(".")[2]
        elif kind == "at":
            self._arrived(connection, member, message)
            return
        elif kind == "missing":
            if message["text"] not in self.missing:
                self.missing.append(str(message["text"]))
            self._answer(connection, {"heard": "yes"})
            return
        elif kind == "left" and member.role == CALLER:
            self._caller_left(message)
        self._answer(connection, {})

    def _caller_left(self, message: dict[str, Any]) -> None:
        raised = tuple((str(kind), str(text)) for kind, text in message.get("raised", ()))
        if message.get("release"):
            self.facts["release_error"] = "; ".join(f"{kind}: {text}" for kind, text in raised)
            self._note(f"the release in the caller raised {self.facts['release_error'][:200]}")
        elif raised:
            self.facts["raised"] = raised
            self._note(f"caller: {raised[0][0]}: {raised[0][1][:200]}")

    def _arrived(self, connection: socket.socket, member: Member, message: dict[str, Any]) -> None:
        name, wanted = str(message.get("name")), str(message.get("role", ""))
        if not member.up:
            self.members.comes_up(member, str(message.get("process", "")))
        if wanted and not is_of(member.role, wanted):
            self._answer(connection, {})
            return
        self.progress_at = time.monotonic()
        # What it has started until now is there: it waits.
        self.members.look()
        alive = tuple(m.pid for m in self.members.living())
        self.milestones.append(MilestoneSeen(member.role, name, self.progress_at - self.started, alive))
        self._note(f"{member.role}: {name}")
        if member.role == CALLER and name == READY:
            self.facts["returned"] = True
        if self.private is False:
            self.members.note_shared()
        if self.continue_on is not None and self.continue_on[:2] == (member.role, name):
            self._continue(self.continue_on[2])
        if (
            self.fault is None
            or (member.role, name) != (self.order.role, self.order.milestone)
            or self.facts.get("reached")
        ):
            self._answer(connection, {})
        else:
            self.facts["reached"] = True
            # What was said before, or is said from now on, by the caller: it is judged by that.
            self.facts["returned_before"] = bool(self.facts.get("returned")) or name == EXIT
            self._do(connection, member)

    def _do(self, connection: socket.socket, member: Member) -> None:
        """Do the fault while `member` waits, then let it go on."""
        fault = self.fault
        assert fault is not None
        if fault.kind == "signal":
            self.waiting.append((connection, member))
            self._try_waiting()
            return
        self._done(member.role)
        if fault.kind == "exception":
            place = f"at {member.role}: {self.order.milestone}"
            self.facts["injected"] = (fault.what, f"injected by faultinject {place}")
            self._note(f"{fault.what} is raised in {member.role}")
            self._answer(connection, {"do": "raise", "fault": fault.what, "place": place})
            return
        self._note(f"{fault.what} from now on in {member.role}")
        if fault.what.startswith("nospace") and self.private:
            if not _shm.leave_no_room():
                self.facts["why_not"] = "/dev/shm could not be made smaller"
            self._answer(connection, {})
        elif fault.port:
            self._answer(connection, {})
        else:
            self._answer(connection, {"do": "refuse", "what": fault.what})

    def _try_waiting(self) -> None:
        """Send the signal to whom it is for, as soon as that process is up."""
        if not self.waiting or self.fault is None:
            return
        connection, member = self.waiting[0]
        victim = member if self.fault.role in ("", member.role) else self.members.with_role(self.fault.role)
        if victim is None and member.alive and time.monotonic() < self.progress_at + self.order.deadline:
            return
        self.waiting.clear()
        if victim is None or not victim.alive:
            how = "had ended" if victim is not None else "did not come up"
            self.facts["why_not"] = f"{self.fault.role} {how} before {member.role} was there"
            self._answer(connection, {})
            return
        number = signal.Signals[self.fault.what]
        self._done(victim.role)
        why_not = send_signal(victim.pid, victim.handle, number)
        victim.told = number.name
        self._note(f"{number.name} to {victim.role}" + (f": {why_not}" if why_not else ""))
        if why_not:
            self.facts |= {"why_not": why_not, "done": why_not != HAD_ENDED}
        self.fault_at = time.monotonic()
        if number is signal.SIGSTOP and self.fault.continues:
            seconds = self.fault.continues_after
            if seconds is not None:
                self.continue_at = (self.fault_at + seconds, victim)
            else:
                role, _, name = self.fault.continues.partition("/")
                self.continue_on = (role, name, victim)
        self._answer(connection, {})

    def _done(self, victim: str) -> None:
        self.fault_at = time.monotonic()
        self.facts |= {"done": True, "victim": victim}
        if not self.private:
            self.members.note_shared()

    def _continue_in_time(self) -> None:
        if self.continue_at is not None and time.monotonic() >= self.continue_at[0]:
            self._continue(self.continue_at[1])

    def _continue(self, victim: Member) -> None:
        self.continue_at = self.continue_on = None
        self._note(f"SIGCONT to {victim.role}")
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(victim.handle, signal.SIGCONT)
        self.progress_at = time.monotonic()

    def _answer(self, connection: socket.socket, answer: dict[str, str]) -> None:
        """Answer, and let the connection go: each is for one message."""
        descriptor = connection.fileno()
        with contextlib.suppress(OSError):
            connection.sendall(json.dumps(answer).encode())
        if self.connections.pop(descriptor, None) is not None:
            self.poll.unregister(descriptor)
        connection.close()

    def _note(self, text: str) -> None:
        self.timeline.append((round(time.monotonic() - self.started, 4), text))

    def _observed(self, root: Member | None) -> TreeObservation:
        now = time.monotonic()
        gone = not any(True for _ in self.members.living())
        if gone and self.fault_at is not None:
            ends = [m.ended for m in self.members.all if m.ended is not None]
            self.facts["gone_after"] = round(max(0.0, max(ends, default=now) - self.fault_at), 3)
        seen = observe(self.members, self.started, self.directory, self.names_before, self.private)
        end_all(self.members, self.names_before)
        self.members.statuses()
        return msgspec.structs.replace(
            seen,
            case=self.order.case,
            caller_ended=root is not None and root.ended is not None and root.ended <= now,
            caller_status=root.status
            if root is not None and root.ended is not None and root.ended <= now
            else None,
            processes=tuple(
                msgspec.structs.replace(one, status=member.status)
                for one, member in zip(seen.processes, self.members.all, strict=False)
            ),
            milestones=tuple(self.milestones),
            missing=tuple(self.missing),
            refused=self.refused,
            timeline=tuple(self.timeline),
            seconds=round(now - self.started, 3),
            **self.facts,
        )


def listen(directory: str) -> socket.socket:
    """The socket in a case's directory at which its agents speak."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(os.path.join(directory, SOCKET))
    listener.listen(128)
    return listener
