"""Who is guarded, whose child each is, and what is done when one of them dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable

from ._ending import kill_with_descendants, marked, send
from ._names import Name, Names
from ._proc import Identity, has_ended, open_pidfd
from ._wire import LIMIT_S

_SCAN_EVERY_S = 0.05
"""Environments are read at most so often: a pool may start and end many processes a second."""

_STUCK_S = 3.0
"""Names of the dead are removed after so long even when a descendant hangs in the kernel and does not end."""


class Guarded:
    """A process the guardian watches.

    Attributes:
        who: pid and start time.
        descriptor: its pidfd.
        pipe: where there is no pidfd, the reading end of a pipe whose other end only it holds.
        parent: whose death ends it. Without one it is only watched, for its children's sake.
        below: those whose parent it is.
        grace: seconds between SIGTERM and SIGKILL.
        ended: whether it has died.
        deadline: when the last of those that end with it is killed, by `time.monotonic`.
        kill_at: when its own grace is over.
        killed: whether SIGKILL is on its way.
        names: what it has made, by path.
        ended_at: when it was seen to be dead.
    """

    __slots__ = (
        "below", "deadline", "descriptor", "ended", "ended_at", "grace", "kill_at", "killed", "names",
        "parent", "pipe", "who",
    )  # fmt: skip

    def __init__(self, who: Identity, descriptor: int | None) -> None:
        self.who = who
        self.descriptor = descriptor
        self.pipe: int | None = None
        self.parent: Guarded | None = None
        self.below: set[Guarded] = set()
        self.grace = 0.0
        self.ended = False
        self.ended_at = 0.0
        self.deadline: float | None = None
        self.kill_at: float | None = None
        self.killed = False
        self.names: dict[str, Name] = {}

    def close(self) -> None:
        """Gives its descriptors back."""
        for descriptor in (self.descriptor, self.pipe):
            if descriptor is not None:
                os.close(descriptor)
        self.descriptor = self.pipe = None


class Tree:
    """All of one guardian's processes.

    Args:
        names: removes what the dead have left.
        mark: what stands before pid and start time in the environment of what they start.
        pidfds: whether to use pidfds.
    """

    def __init__(self, names: Names, mark: str, pidfds: bool) -> None:
        self.processes: dict[Identity, Guarded] = {}
        self._names = names
        self._mark = mark
        self._pidfds = pidfds
        self._next_scan = 0.0

    def enter(self, who: Identity, now: float) -> Guarded:
        """The process of that identity, from now on watched; one that has died already is noted as dead."""
        process = self.processes.get(who)
        if process is None:
            try:
                descriptor = open_pidfd(who) if self._pidfds else None
                dead = descriptor is None and has_ended(who)
            except ProcessLookupError:
                descriptor, dead = None, True
            except OSError:
                dead = False
            process = self.processes[who] = Guarded(who, descriptor)
            if dead:
                self.died(process, now)
        return process

    def adopt(self, parent: Guarded, child: Guarded, now: float) -> None:
        """From now on `child` ends when `parent` does; at once if that is dead. The first parent stays."""
        above: Guarded | None = parent
        while above is not None:
            if above is child:
                return
            above = above.parent
        if child.parent is None:
            child.parent = parent
            parent.below.add(child)
        if child.parent.ended and not child.ended:
            self._end([child], child.parent.deadline or now + LIMIT_S, now)

    def died(self, process: Guarded, now: float) -> None:
        """Ends all that are below `process`, which has died."""
        if process.ended:
            return
        process.ended = True
        process.ended_at = now
        process.close()
        if process.deadline is None:
            process.deadline = now + LIMIT_S
        self._end(process.below, process.deadline, now)

    def _end(self, processes: Iterable[Guarded], deadline: float, now: float) -> None:
        """Asks those that have a grace, kills those that have none or have had it, with all below these."""
        doomed: list[Guarded] = []
        waiting = list(processes)
        while waiting:
            process = waiting.pop()
            if process.ended:
                waiting.extend(process.below)
            elif process.killed:
                continue
            elif process.kill_at is None and process.grace > 0 and now < deadline:
                process.deadline = deadline
                process.kill_at = min(now + process.grace, deadline)
                send(process.who, process.descriptor, signal.SIGTERM)
            elif process.kill_at is None or process.kill_at <= now:
                process.deadline = deadline
                process.killed = True
                doomed.append(process)
                waiting.extend(process.below)
        if doomed:
            self._kill(doomed, deadline, now)

    def _kill(self, doomed: list[Guarded], deadline: float, now: float) -> None:
        # Those with another parent have a fate of their own; what is only watched has not.
        spared = {
            who
            for who, one in self.processes.items()
            if one.parent is not None and not one.killed and not one.ended
        }
        named = [(one.who, one.descriptor) for one in doomed]
        for killed in kill_with_descendants(named, spared, self._pidfds):
            if not killed.found:
                continue
            process = self.processes.get(killed.who)
            if process is None:
                process = self.processes[killed.who] = Guarded(killed.who, killed.descriptor)
            elif killed.descriptor is not None:
                os.close(killed.descriptor)
            process.killed = True
            process.deadline = deadline
            if process.parent is None:
                process.parent = self.processes[killed.above]
                process.parent.below.add(process)
            self._end(process.below, deadline, now)

    def due(self, now: float) -> None:
        """Does what its time has come for."""
        for process in list(self.processes.values()):
            over = process.kill_at is not None and process.kill_at <= now
            if over and not process.ended and not process.killed:
                self._end([process], process.deadline or now, now)
        for process in self.processes.values():
            if process.ended and process.names and now >= process.ended_at + _STUCK_S:
                self._remove_names(process)
        alone = [process for process in self.processes.values() if process.ended and not process.below]
        if alone and now >= self._next_scan:
            self._next_scan = now + _SCAN_EVERY_S
            self._bury(alone, now)

    def _bury(self, alone: list[Guarded], now: float) -> None:
        """Ends what the dead had started and told nobody of; removes names of those that left nobody."""
        marks = {f"{self._mark}{one.who[0]},{one.who[1]}".encode(): one.who for one in alone}
        for found, whose in marked(marks):
            self.adopt(self.processes[whose], self.enter(found, now), now)
        for process in alone:
            if process.below:
                continue
            self._remove_names(process)
            del self.processes[process.who]
            if process.parent is not None:
                process.parent.below.discard(process)
                process.parent = None

    def _remove_names(self, process: Guarded) -> None:
        for name in process.names.values():
            self._names.remove(name)
        process.names.clear()
        self._names.write(self.owned())

    def owned(self) -> list[tuple[Identity, Name]]:
        """All names, with those who made them."""
        return [(one.who, name) for one in self.processes.values() for name in one.names.values()]

    def next_due(self, now: float) -> float | None:
        """Seconds until there is something to be done, or ``None``."""
        times = []
        for process in self.processes.values():
            if not process.ended and process.kill_at is not None and not process.killed:
                times.append(process.kill_at)
            elif process.ended and not process.below:
                times.append(self._next_scan)
            elif process.ended and process.names:
                times.append(process.ended_at + _STUCK_S)
        return max(0.0, min(times) - now) if times else None

    def idle(self) -> bool:
        """Whether nothing is left to guard: no child, and nobody's name."""
        return not any(
            process.parent is not None or process.names or process.ended
            for process in self.processes.values()
        )
