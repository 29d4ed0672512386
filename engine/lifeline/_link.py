"""This process's connection to its guardian: what it asked for, and asks again of another guardian."""

from __future__ import annotations

import errno
import os
import socket
import struct
import threading
import time
from dataclasses import dataclass, field

from engine.lifeline._errors import LifelineError
from engine.lifeline._guard._proc import Identity, has_ended, namespace
from engine.lifeline._guard._wire import PACKET, pack, unpack, use_pidfds
from engine.lifeline._start import start_guardian
from engine.lifeline._ticket import Ticket, inherited_ticket, myself, new_ticket, read_ticket

_ANSWER_S = 5.0
"""Seconds a guardian may take to answer; 0.001 are usual."""

_TRIES = 5
_AGAIN_S = 0.02
"""Before another try, while a guardian that is just ending gives its address free."""

_CREDENTIALS = struct.Struct("3i")
_NOBODY: Identity = (0, 0)


@dataclass
class Known:
    """What a guardian has to be told of this process.

    Attributes:
        armed: the parent, and the seconds of grace, once this process is armed.
        children: those it registered.
        names: kind, device and inode by path.
    """

    armed: tuple[Identity, float] | None = None
    children: set[Identity] = field(default_factory=set)
    names: dict[str, tuple[str, int, int]] = field(default_factory=dict)

    def requests(self) -> list[tuple[str | int | float, ...]]:
        """All of it, as requests."""
        self.children = {child for child in self.children if not has_ended(child)}
        told: list[tuple[str | int | float, ...]] = []
        if self.armed is not None:
            parent, grace = self.armed
            told.append(("arm", *parent, grace))
        told += [("child", *child) for child in self.children]
        told += [("own", kind, path, *file) for path, (kind, *file) in self.names.items()]
        return told


class Link:
    """One process's side of the lifeline.

    Args:
        me: this process.
        ticket: its tree; its owner is this process's parent, or this process where it begins a tree.
    """

    def __init__(self, me: Identity, ticket: Ticket) -> None:
        self.me = me
        self.ticket = ticket
        self.known = Known()
        self.guardian = _NOBODY
        self._lock = threading.RLock()
        self._pidfds = use_pidfds()
        self._pipe: tuple[int, int] | None = None

    @property
    def own_ticket(self) -> Ticket:
        """What this process gives to its children."""
        return self.ticket.of(self.me)

    def ask(self, verb: str, *fields: str | int | float, start: bool = True) -> list[str]:
        """Ask the guardian, started if there is none, and told anew what this process knows if it is another.

        Args:
            verb: what to do.
            fields: with what.
            start: whether to start a guardian; without one there is no answer then.

        Raises:
            LifelineError: it does not start or answer, or refuses.
        """
        with self._lock:
            last: Exception | None = None
            try:
                for turn in range(_TRIES):
                    if turn:
                        time.sleep(_AGAIN_S)
                    try:
                        told = self._exchange(verb, *fields)
                    except (ConnectionError, FileNotFoundError) as error:
                        if not start:
                            return []
                        last = error
                        start_guardian(self.ticket)
                        continue
                    except OSError as error:
                        raise LifelineError(f"the guardian cannot be asked: {_why(error)}") from error
                    if told is not None:
                        return told
                raise LifelineError(f"no guardian stays: {last}") from last
            finally:
                # Its traceback has this frame, and with it all that the callers hold, until a collection.
                last = None

    def _exchange(self, verb: str, *fields: str | int | float) -> list[str] | None:
        status, guardian, rest = self._send(verb, *fields)
        if guardian != self.guardian:
            self.guardian = guardian
            for request in self.known.requests():
                if request != (verb, *fields):
                    # One refusal is no reason not to tell the rest: a name may have been taken over.
                    self._send(*request)
        if status != "ok":
            raise LifelineError(f"the guardian refuses: {' '.join(rest)}")
        return rest

    def _send(self, verb: str | int | float, *fields: str | int | float) -> tuple[str, Identity, list[str]]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
            asking.settimeout(_ANSWER_S)
            asking.connect(b"\0" + self.ticket.address.encode())
            raw = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            if _CREDENTIALS.unpack(raw)[1] != os.geteuid():
                raise LifelineError("another user's process has the guardian's address")
            packet = pack(self.ticket.secret, verb, *self.me, *fields)
            end = self._lifeline_end()
            if end is None:
                asking.send(packet)
            else:
                socket.send_fds(asking, [packet], [end])
            answer = unpack(asking.recv(PACKET))
        if len(answer) < 3:
            raise ConnectionResetError("the guardian has hung up")
        return answer[0], (int(answer[1]), int(answer[2])), answer[3:]

    def _lifeline_end(self) -> int | None:
        """Where there are no pidfds: the reading end of a pipe whose other end closes when this process dies.

        A fork closes its copies, and an ``exec`` does, so that no sibling holds them.
        """
        if self._pidfds:
            return None
        if self._pipe is None:
            self._pipe = os.pipe()
        return self._pipe[0]

    def close(self) -> None:
        """Gives back the pipe; in a forked child that is its copy of what only its parent may hold."""
        if self._pipe is not None:
            for end in self._pipe:
                os.close(end)
            self._pipe = None


def _why(error: OSError) -> str:
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "no file descriptor is left"
    return str(error) or type(error).__name__


_current: Link | None = None
_lock = threading.Lock()
_hooked = False


def current_link() -> Link:
    """This process's link, begun if there is none. It asks nothing yet.

    Raises:
        LifelineError: there is no ``/proc``, or no descriptor left to read it.
    """
    global _current, _hooked
    with _lock:
        if _current is None:
            ticket = inherited_ticket()
            _current = Link(myself(), new_ticket() if ticket is None else ticket)
            if not _hooked:
                # The interpreter has no way to take it back: it does nothing where there is no link.
                os.register_at_fork(after_in_child=_after_fork)
                _hooked = True
        return _current


def link_from(text: str) -> Link | None:
    """This process's link by a ticket that its parent handed over, unless it has one already."""
    ticket = read_ticket(text)
    if ticket is None:
        return None
    link = current_link()
    with _lock:
        if link.known.armed is None and link.guardian == _NOBODY:
            link.ticket = ticket
    return link


def _after_fork() -> None:
    """The child of a fork is another process: same tree, and the forking process is its parent."""
    global _current, _lock
    _lock = threading.Lock()
    parent, _current = _current, None
    if parent is not None:
        parent.close()
        try:
            me = myself()
        except LifelineError:
            return  # It begins anew when it is asked for something.
        if namespace() == parent.ticket.namespace:
            _current = Link(me, parent.own_ticket)
