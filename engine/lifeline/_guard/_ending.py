"""Ending processes by signals, with all that they have started below them."""

from __future__ import annotations

import contextlib
import os
import signal

from ._proc import Identity, children, ends_by_itself, facts, identity, open_pidfd, processes, read

_PASSES = 16
"""Looks for children of what is stopped already. Two are enough, but for a process that was forking."""


def send(who: Identity, descriptor: int | None, number: int) -> None:
    """A signal to that very process, or to nobody; one that is gone, or not ours, is left alone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if descriptor is not None:
            signal.pidfd_send_signal(descriptor, number)
        elif identity(who[0]) == who:
            os.kill(who[0], number)


class Doomed:
    """A process that is to be killed.

    Attributes:
        who: its pid and start time.
        descriptor: its pidfd, if there is one.
        above: whom it was found below; its own `who` if it was not found but named.
        found: whether it was found in ``/proc``; its descriptor is then the caller's to close.
    """

    __slots__ = ("above", "descriptor", "found", "who")

    def __init__(self, who: Identity, descriptor: int | None, above: Identity, found: bool) -> None:
        self.who = who
        self.descriptor = descriptor
        self.above = above
        self.found = found


def kill_with_descendants(
    named: list[tuple[Identity, int | None]], spared: set[Identity], pidfds: bool
) -> list[Doomed]:
    """SIGKILL to `named` and to every process below them.

    They are stopped first, and killed when a look finds no more children: a process that was killed while
    it forks would leave a child that nobody knows, with another parent.

    Args:
        named: pid and start time, and the pidfd where there is one.
        spared: left alone, with what is below them. So is what ends by itself.
        pidfds: whether to get a pidfd for those that are found.

    Returns:
        All that was killed. Those of them that were `found` may have a descriptor to be closed.
    """
    doomed = {who: Doomed(who, descriptor, who, False) for who, descriptor in named}
    for one in doomed.values():
        send(one.who, one.descriptor, signal.SIGSTOP)
    for _ in range(_PASSES):
        added = [new for one in list(doomed.values()) for new in _below(one, doomed, spared, pidfds)]
        if not added:
            break
    for one in doomed.values():
        send(one.who, one.descriptor, signal.SIGKILL)
    return list(doomed.values())


def _below(
    above: Doomed, doomed: dict[Identity, Doomed], spared: set[Identity], pidfds: bool
) -> list[Doomed]:
    added: list[Doomed] = []
    for pid in children(above.who[0]):
        found = _found(pid, above.who, doomed, spared, pidfds)
        if found is not None:
            doomed[found.who] = found
            send(found.who, found.descriptor, signal.SIGSTOP)
            added.append(found)
            added.extend(_below(found, doomed, spared, pidfds))
    return added


def _found(
    pid: int, above: Identity, doomed: dict[Identity, Doomed], spared: set[Identity], pidfds: bool
) -> Doomed | None:
    try:
        seen = facts(pid)
        if seen is None or seen.ended or seen.parent != above[0]:
            return None
        who = (pid, seen.start)
        if who in doomed or who in spared or pid == os.getpid() or ends_by_itself(pid):
            return None
        return Doomed(who, open_pidfd(who) if pidfds else None, above, True)
    except OSError:
        return None


def marked(marks: dict[bytes, Identity]) -> list[tuple[Identity, Identity]]:
    """Living processes whose environment, as it was at their start, holds one of `marks`.

    That finds what a dead process had started by ``exec`` and told nobody of. The environment of another
    user's process cannot be read, nor is it looked for.

    Returns:
        Pairs of who was found, and whose mark it has.
    """
    found = []
    for pid in processes():
        try:
            if pid == os.getpid():
                continue
            lines = read(f"/proc/{pid}/environ").split(b"\0")
            whose = next((marks[line] for line in lines if line in marks), None)
            if whose is None or ends_by_itself(pid):
                continue
            seen = facts(pid)
        except OSError:
            continue
        if seen is not None and not seen.ended:
            found.append(((pid, seen.start), whose))
    return found
