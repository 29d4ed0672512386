"""The test's side of a tree of real processes: it starts a program, hears from its processes, ends them."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from engine.lifeline._guard._proc import Identity
from engine.lifeline._link import Link
from engine.lifeline._ticket import myself, read_ticket

ROOT = Path(__file__).parents[2]
PATIENCE_S = 30.0
"""How long a process may take to say something: only a failing test waits for it."""

LIMIT_S = 2.0
"""The guarantee: so long after a death the last descendant is gone."""


class Seen:
    """A process that has reported, held by a pidfd: no other is ever taken for it."""

    def __init__(self, role: str, pid: int) -> None:
        self.role = role
        self.pid = pid
        self.descriptor = os.pidfd_open(pid)

    def kill(self, number: int = signal.SIGKILL) -> None:
        signal.pidfd_send_signal(self.descriptor, number)

    def ends_within(self, seconds: float) -> bool:
        return bool(select.select([self.descriptor], [], [], seconds)[0])

    @property
    def lives(self) -> bool:
        return not self.ends_within(0)


class Tree:
    """One program, and every process of it that reports."""

    def __init__(self) -> None:
        self.address = f"lifeline-test-{uuid.uuid4().hex}"
        self.seen: dict[str, Seen] = {}
        self.said: dict[str, str] = {}
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(b"\0" + self.address.encode())
        self._socket.settimeout(PATIENCE_S)
        self._link: Link | None = None
        self._programs: list[subprocess.Popen[bytes]] = []

    def run(self, program: str, *arguments: str, inherit: Sequence[int] = (), **environment: str) -> None:
        command = [sys.executable, "-m", "tests.lifeline._programs", program, self.address, *arguments]
        self._programs.append(
            subprocess.Popen(
                command, cwd=ROOT, env={**os.environ, **environment}, start_new_session=True, pass_fds=inherit
            )
        )

    def wait(self, *roles: str) -> list[Seen]:
        """Those roles, once all have reported."""
        while not set(roles) <= self.seen.keys():
            self._hear()
        return [self.seen[role] for role in roles]

    def heard(self, role: str) -> str:
        """What a role said."""
        while role not in self.said:
            self._hear()
        return self.said[role]

    def hear_the_rest(self) -> None:
        """All that has been said by now."""
        self._socket.settimeout(0)
        with contextlib.suppress(BlockingIOError):
            while True:
                self._hear()
        self._socket.settimeout(PATIENCE_S)

    def _hear(self) -> None:
        kind, role, rest = self._socket.recv(65536).decode().split(" ", 2)
        if kind == "said":
            self.said[role] = rest
        else:
            self.seen[role] = Seen(role, int(rest))

    def link(self) -> Link:
        """A way to ask the tree's guardian, which the program called ``ticket`` in a `say`."""
        if self._link is None:
            ticket = read_ticket(self.heard("ticket"))
            assert ticket is not None
            self._link = Link(myself(), ticket)
        return self._link

    def guarded(self) -> set[int]:
        """Who lives, as the guardian sees it."""
        told = self.link().ask("state", start=False)
        return set(map(int, told[0].split())) if told else set()

    def guardian(self) -> Seen:
        link = self.link()
        link.ask("state", start=False)
        who: Identity = link.guardian
        seen = self.seen[f"guardian {who[0]}"] = Seen("guardian", who[0])
        return seen

    def until_unguarded(self, *ended: Seen) -> None:
        """Until the guardian has seen that these have ended, and done what it does then."""
        self.until(lambda: not self.guarded() & {one.pid for one in ended})

    @staticmethod
    def until(done: Callable[[], bool]) -> None:
        """Until it is so, looked at again and again."""
        deadline = time.monotonic() + PATIENCE_S
        while not done():
            assert time.monotonic() < deadline, "it has not come to that"
            time.sleep(0.005)

    def close(self) -> None:
        self._socket.close()
        if self._link is not None:
            self._link.close()
        for seen in self.seen.values():
            with contextlib.suppress(ProcessLookupError):
                seen.kill()
            os.close(seen.descriptor)
        for program in self._programs:
            program.kill()
            program.wait()


@contextlib.contextmanager
def tree() -> Iterator[Tree]:
    made = Tree()
    try:
        yield made
    finally:
        made.close()


def all_end(seen: list[Seen], seconds: float = LIMIT_S) -> bool:
    """Whether all of them are gone before the time is over."""
    deadline = time.monotonic() + seconds
    return all(one.ends_within(max(0.0, deadline - time.monotonic())) for one in seen)
