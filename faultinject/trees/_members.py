"""The processes of one case, as the conductor knows them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from faultinject.probes._proc import stat
from faultinject.probes._processes import descendants
from faultinject.trees._declared import CALLER, Roles
from faultinject.trees._holding import command_of, shared_names_of, start_seconds
from faultinject.trees._sending import is_over, open_handle, status_of_dead


@dataclass
class Member:
    """A process of the tree."""

    pid: int
    start: str
    """Clock ticks from boot; a pid comes back, with this it does not."""
    handle: int
    parent: int
    started: float
    role: str = ""
    """Known once it is up."""
    name: str = ""
    argv: str = ""
    helper: str = ""
    up: bool = False
    order: int = -1
    ended: float | None = None
    status: int | None = None
    told: str = ""
    shared: set[str] = field(default_factory=set)

    @property
    def alive(self) -> bool:
        return self.ended is None


class Members:
    """Knows each process from when it is first seen until the case is over.

    Args:
        roles: who has which role.
    """

    def __init__(self, roles: Roles) -> None:
        self.roles = roles
        self.all: list[Member] = []
        self._ordered = 0

    def look(self) -> None:
        """Take notice of new processes, in the order of their start, and of those that are dead."""
        now = time.monotonic()
        known = {(m.pid, m.start) for m in self.all}
        new = []
        for pid, facts in descendants():
            if (pid, facts.start) not in known and facts.state not in "ZX":
                handle = open_handle(pid)
                if handle is not None:
                    new.append(Member(pid, facts.start, handle, _parent(pid), start_seconds(facts.start)))
        self.all += sorted(new, key=lambda member: (int(member.start), member.pid))
        for member in self.all:
            if member.alive and is_over(member.handle):
                member.ended = now

    def reap(self) -> None:
        """Reap the caller, and what was orphaned."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            for member in self.all:
                if member.pid == pid and member.status is None:
                    member.status = os.waitstatus_to_exitcode(status)
                    member.ended = member.ended or time.monotonic()

    def find(self, pid: int) -> Member | None:
        """The living process of that pid, if it is one of the tree."""
        for again in (False, True):
            for member in self.all:
                if member.pid == pid and member.alive:
                    return member
            if not again:
                self.look()
        return None

    def with_role(self, role: str) -> Member | None:
        """The process that has, or had last, a role."""
        return next((m for m in reversed(self.all) if m.role == role), None)

    def comes_up(self, member: Member, process: str) -> None:
        """Give a process that is up its role."""
        member.up = True
        member.name = process or member.name
        if member.role:
            return
        title = command_of(member.pid)
        self._number()
        taken = [m.role for m in self.all if m.role and m.alive]
        member.role = self.roles.role_of(process, member.argv, title, member.order, taken)

    def _number(self) -> None:
        """Count the processes in the order of their start; not those that serve multiprocessing itself."""
        for member in self.all:
            if member.order < 0 and not member.helper and member.role != CALLER and not _is_helper(member):
                member.order = self._ordered
                self._ordered += 1

    def living(self) -> Iterator[Member]:
        return (m for m in self.all if m.alive)

    def note_shared(self) -> None:
        """Remember which names in ``/dev/shm`` each living process has."""
        for member in self.living():
            member.shared |= shared_names_of(member.pid)

    def statuses(self) -> None:
        """Ask the kernel for the statuses of those that others have reaped."""
        for member in self.all:
            if member.status is None and not member.alive:
                member.status = status_of_dead(member.handle)

    def close(self) -> None:
        for member in self.all:
            os.close(member.handle)
        self.all.clear()


def is_descendant(pid: int) -> bool:
    """Whether a process is beneath this one."""
    own = os.getpid()
    for _ in range(1000):
        pid = _parent(pid)
        if pid == own:
            return True
        if pid <= 1:
            return False
    return False


def _is_helper(member: Member) -> bool:
    command = command_of(member.pid)
    member.helper = next(
        (h for h in ("resource_tracker", "forkserver") if f"multiprocessing.{h} import main" in command), ""
    )
    return bool(member.helper)


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def identity(pid: int) -> str:
    """The start of a process, that tells it from a later one of the same pid."""
    return stat(f"/proc/{pid}/stat").start
