"""The guardian's own life: it starts, listens, watches, and ends when nothing is left to guard."""

from __future__ import annotations

import errno
import os
import resource
import select
import signal
import socket
import struct
import sys
import time

from ._names import Name, Names
from ._proc import Identity, has_ended, identity, namespace
from ._tree import Guarded, Tree
from ._wire import LIMIT_S, PACKET, VARIABLE, pack, unpack, use_pidfds

LINGER_S = 0.5
"""How long it stays with nothing to guard: most of those that end one child start another."""

_LOOK_S = 0.2
"""Between two looks at processes for which there is no pidfd."""

_LOOK_SOON_S = 0.01
"""The same where a pipe has closed: its holder is about to end, unless it closed it by mistake."""

_PINNED_S = 1.0
"""Between two looks whether held files have lost their names."""

_CONNECTIONS = 64
_CREDENTIALS = struct.Struct("3i")


class Refused(Exception):
    """What a process asked for is not done; the text goes back to it."""


class Guardian:
    """One loop over a listening socket, its connections and the watched processes.

    Args:
        listener: a listening `SOCK_SEQPACKET` socket.
        secret: what whoever may ask knows.
        mark: begins the environment variable of the guarded.
        names: removes names.
    """

    def __init__(self, listener: socket.socket, secret: str, mark: str, names: Names, me: Identity) -> None:
        self._listener = listener
        self._secret = secret
        self._names = names
        self._me = me
        self._pidfds = use_pidfds()
        self.tree = Tree(names, mark, self._pidfds)
        self._connections: dict[int, socket.socket] = {}
        self._hung_up: dict[Identity, float] = {}

    def run(self) -> None:
        """Until nothing is left to guard for a while."""
        idle_since: float | None = None
        while True:
            now = time.monotonic()
            self._look(now)
            self.tree.due(now)
            if not self.tree.idle() or self._connections:
                idle_since = None
            elif idle_since is None:
                idle_since = now
            elif now - idle_since >= LINGER_S:
                return
            self._wait(self._timeout(now, idle_since))

    def _timeout(self, now: float, idle_since: float | None) -> float | None:
        times = [] if idle_since is None else [max(0.0, idle_since + LINGER_S - now)]
        due = self.tree.next_due(now)
        if due is not None:
            times.append(due)
        living = [process for process in self.tree.processes.values() if not process.ended]
        if self._hung_up:
            times.append(_LOOK_SOON_S)
        elif any(process.descriptor is None for process in living):
            times.append(_LOOK_S)
        if any(name.pin is not None for process in living for name in process.names.values()):
            times.append(_PINNED_S)
        return min(times) if times else None

    def _wait(self, timeout: float | None) -> None:
        watched: dict[int, Guarded] = {}
        poll = select.poll()
        poll.register(self._listener.fileno(), select.POLLIN)
        for descriptor in self._connections:
            poll.register(descriptor, select.POLLIN)
        for process in self.tree.processes.values():
            for end in (process.descriptor, process.pipe):
                if end is not None:
                    watched[end] = process
                    poll.register(end, select.POLLIN)
        milliseconds = None if timeout is None else int(timeout * 1000) + 1
        ready = poll.poll(milliseconds)
        now = time.monotonic()
        for descriptor, _ in ready:
            if descriptor == self._listener.fileno():
                self._accept()
            elif descriptor in self._connections:
                self._answer(self._connections.pop(descriptor), now)
        for descriptor, _ in ready:
            hit = watched.get(descriptor)
            if hit is None or hit.ended:
                continue
            if descriptor == hit.descriptor:
                self.tree.died(hit, now)
            elif descriptor == hit.pipe:
                os.close(descriptor)
                hit.pipe = None
                self._hung_up[hit.who] = now + LIMIT_S

    def _look(self, now: float) -> None:
        """At what no descriptor tells of."""
        for process in list(self.tree.processes.values()):
            if not process.ended and process.descriptor is None:
                try:
                    dead = has_ended(process.who)
                except OSError:
                    continue
                if dead:
                    self.tree.died(process, now)
            if process.ended:
                self._hung_up.pop(process.who, None)
            gone = [name for name in process.names.values() if name.has_gone()]
            for name in gone:
                name.let_go()
                del process.names[name.path]
            if gone:
                self._names.write(self.tree.owned())
        self._hung_up = {who: until for who, until in self._hung_up.items() if until > now}

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            time.sleep(_LOOK_SOON_S)  # No descriptor left: whoever knocks is still there when one is.
            return
        if _credentials(connection)[1] != os.geteuid():
            connection.close()
            return
        while len(self._connections) >= _CONNECTIONS:
            self._connections.pop(next(iter(self._connections))).close()
        connection.setblocking(False)
        self._connections[connection.fileno()] = connection

    def _answer(self, connection: socket.socket, now: float) -> None:
        with connection:
            pipes: list[int] = []
            try:
                packet, pipes, _, _ = socket.recv_fds(connection, PACKET, 1)
                said = self._do(unpack(packet), _credentials(connection)[0], pipes, now) if packet else None
            except Refused as refusal:
                said = pack("no", *self._me, str(refusal))
            except Exception as error:
                said = pack("no", *self._me, f"{type(error).__name__}: {error}")
            finally:
                for end in pipes:
                    os.close(end)
            try:
                if said is not None:
                    connection.send(said)
            except OSError:
                pass  # Whoever asked has gone; what it asked for is done.

    def _do(self, fields: list[str], pid: int, pipes: list[int], now: float) -> bytes:
        secret, verb, claimed, start, *rest = fields
        if secret != self._secret:
            raise Refused("that is not this tree's secret")
        if int(claimed) != pid:
            raise Refused("another pid namespace")
        who = (pid, int(start))
        if identity(pid) != who:
            raise Refused(f"process {pid} did not start at {start}")
        asking = self.tree.enter(who, now)
        if pipes and asking.descriptor is None and asking.pipe is None and not asking.ended:
            asking.pipe = pipes.pop()
        told: list[str | int] = []
        if verb == "child":
            child = self.tree.enter((int(rest[0]), int(rest[1])), now)
            self.tree.adopt(asking, child, now)
        elif verb == "arm":
            asking.grace = float(rest[2])
            self.tree.adopt(self.tree.enter((int(rest[0]), int(rest[1])), now), asking, now)
        elif verb == "own":
            self._own(asking, Name(rest[0], rest[1], int(rest[2]), int(rest[3])))
        elif verb == "disown":
            known = asking.names.pop(rest[0], None)
            if known is not None:
                known.let_go()
                self._names.write(self.tree.owned())
        elif verb == "state":
            living = sorted(one.who[0] for one in self.tree.processes.values() if not one.ended)
            told = [" ".join(map(str, living)), int(self._pidfds)]
        else:
            raise Refused(f"{verb} is nothing that can be asked for")
        return pack("ok", *self._me, *told)

    def _own(self, process: Guarded, name: Name) -> None:
        name.hold()
        if not name.is_expected() and not name.is_there():
            name.let_go()
            raise Refused(f"{name.path} is another file by now")
        before = process.names.get(name.path)
        if before is not None:
            before.let_go()
        process.names[name.path] = name
        self._names.write(self.tree.owned())


def _credentials(connection: socket.socket) -> tuple[int, int]:
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, user, _ = _CREDENTIALS.unpack(raw)
    return pid, user


def main() -> None:
    """Reads address and secret from standard input, leaves its parent, says ``ready``, and guards."""
    address, secret = unpack(sys.stdin.buffer.read())
    # Not the child of whoever asked: that one may wait for its children, or end them all.
    if os.fork():
        os._exit(0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        listener.bind(b"\0" + address.encode())
        listener.listen(128)
    except OSError as error:
        # Another process of the tree was quicker; its guardian serves as well.
        os.write(1, b"taken" if error.errno == errno.EADDRINUSE else str(error).encode())
        os._exit(0)
    me = identity(os.getpid())
    assert me is not None
    names = Names(me)
    names.remove_those_of_dead_runs()
    os.write(1, b"ready")
    null = os.open("/dev/null", os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.close(null)
    mark = f"{VARIABLE}={address},{namespace()},{secret},"
    Guardian(listener, secret, mark, names, me).run()
    names.write([])
    os._exit(0)
