"""The end of a case: what is left is written down, then ended and removed."""

from __future__ import annotations

import contextlib
import os
import signal
import time

from faultinject.trees import _shm
from faultinject.trees._declared import role_order
from faultinject.trees._holding import command_of, files_beneath, holdings, ports_of, shared_names_of
from faultinject.trees._members import Member, Members
from faultinject.trees._messages import ProcessSeen, Survivor, TreeObservation
from faultinject.trees._sending import is_over, state_of

TEMPORARY = "tmp"
"""The tree's own temporary directory, beneath the case's."""

_PATIENCE = 10.0
"""Seconds in which killed processes are gone; longer only where one is stuck in the kernel."""


def observe(
    members: Members, started: float, directory: str, names_before: set[str], private: bool
) -> TreeObservation:
    """What is there at this moment: processes, names, files, ports.

    Args:
        started: of the case, by the monotonic clock.
        directory: of the case.
        names_before: what was in ``/dev/shm`` before it.
        private: whether all that is there is the tree's; otherwise only what one of its processes held.
    """
    now = time.monotonic()
    members.look()
    alive = list(members.living())
    sizes = _shm.sizes()
    members.note_shared()
    survivors = [
        Survivor(
            m.role or "process",
            m.pid,
            round(now - m.started, 2),
            state_of(m.pid),
            command_of(m.pid) or m.name,
            holdings(m.pid, sizes),
        )
        for m in alive
        if not m.helper or len(alive) == sum(bool(other.helper) for other in alive)
    ]
    held = {name: m.role for m in members.all for name in m.shared}
    shared = [
        (name, size, held.get(name, ""))
        for name, size in sorted(sizes.items())
        if name not in names_before and (private or name in held)
    ]
    return TreeObservation(
        "",
        survivors=tuple(sorted(survivors, key=lambda s: (role_order(s.role), s.pid))),
        shared=tuple(shared),
        files=tuple(files_beneath(os.path.join(directory, TEMPORARY))),
        ports=tuple(sorted({port for m in alive for port in ports_of(m.pid)})),
        processes=tuple(_seen(m, members, started) for m in members.all),
    )


def _seen(member: Member, members: Members, started: float) -> ProcessSeen:
    parent = next((m.role for m in members.all if m.pid == member.parent), "")
    return ProcessSeen(
        role=member.role,
        pid=member.pid,
        parent=parent,
        name=member.name,
        started=round(member.started - started, 3),
        ended=None if member.ended is None else round(member.ended - started, 3),
        status=member.status,
        told=member.told,
        helper=bool(member.helper),
    )


def end_all(members: Members, names_before: set[str]) -> None:
    """End every process of the tree, and remove the names in ``/dev/shm`` that only they knew."""
    for member in members.living():
        member.shared |= shared_names_of(member.pid)
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        members.look()
        alive = list(members.living())
        if not alive:
            break
        for member in alive:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(member.handle, signal.SIGKILL)
        for member in alive:
            is_over(member.handle, 0.2)
        members.reap()
    members.reap()
    for name in {name for m in members.all for name in m.shared} - names_before:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(_shm.PLACE, name))
