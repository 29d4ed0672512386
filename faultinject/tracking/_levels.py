"""Which calls are fault points at a level, and what identifies each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

from faultinject.facts import Level, Phase, Point
from faultinject.tracking._names import frame_name

STEP_CAP = 64
"""Dynamic calls of one callee from one caller that are told apart at ``steps``; a loop of ten thousand
calls has sixty-four points, and the recording says how many were not offered."""

NTH_CAP = 256
"""The same for ``nth``."""

_STANDINS = "faultinject.backends._standins"
"""Its frames lie between a wrapped callable and its caller, and belong to neither."""


@dataclass(frozen=True)
class Site:
    """A call that is a fault point, before a phase is chosen."""

    caller: str
    callee: str
    occurrence: int
    kind: str
    file: str
    line: int
    step: int
    stack: tuple[str, ...] = ()

    def point(self, level: Level, phase: Phase) -> Point:
        return Point(
            level,
            phase,
            self.caller,
            self.callee,
            self.occurrence,
            self.stack,
            self.kind,
            self.file,
            self.line,
            self.step,
        )


class Identifier:
    """Gives each call its identity, the same in a recording and in the run of a case.

    Args:
        level: the level.
        depth: how many frames from the call upwards tell two stacks apart, at ``stacks``.
    """

    def __init__(self, level: Level, depth: int = 4) -> None:
        self.level = level
        self.depth = depth
        self.capped = 0
        self._seen: set[tuple[object, ...]] = set()
        self._kept: list[object] = []
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._dynamic: Counter[tuple[int, int]] = Counter()
        self._runs: dict[int, set[int]] = {}

    def identify(
        self,
        caller: FrameType,
        identity: int,
        keep: object,
        name: Callable[[], str],
        kind: str,
        step: int,
        inner: bool,
    ) -> Site | None:
        """The site of a call about to be made from `caller`, or `None` where it is no new point.

        Args:
            identity: id of the callee's code or C function; `keep` is kept alive while it matters.
            name: gives the callee's name; only called for a new point.
            inner: whether the caller lies beneath the target's own frame.
        """
        level = self.level
        if level == "steps":
            return None if inner else self._dynamic_site(caller, name, kind, step, STEP_CAP)
        if level == "opcodes":
            return None
        if level == "nth":
            pair = (id(caller.f_code), identity)
            count = self._dynamic[pair] = self._dynamic[pair] + 1
            if count == 1:
                self._kept.append((caller.f_code, keep))
            if count > NTH_CAP:
                self.capped += 1
                return None
            return self._dynamic_site(caller, name, kind, step, NTH_CAP)
        place: tuple[object, ...] = (id(caller.f_code), caller.f_lasti, identity)
        if level == "stacks":
            place += tuple(self._stack_places(caller))
        if place in self._seen:
            return None
        self._seen.add(place)
        self._kept.append((caller.f_code, keep))
        stack = self._stack_names(caller) if level == "stacks" else ()
        names = (frame_name(caller), name(), *stack)
        self._counts[names] += 1
        return Site(
            names[0],
            names[1],
            self._counts[names],
            kind,
            caller.f_code.co_filename,
            caller.f_lineno,
            step,
            stack,
        )

    def instruction(self, frame: FrameType, offset: int, name: str, step: int, run: int = 0) -> Site | None:
        """The site of an instruction of an own frame of the target's, at level ``opcodes``.

        Args:
            run: tells apart the activations of code that runs more than once; 0 where it runs once.
        """
        place = (id(frame.f_code), offset, run)
        if self.level != "opcodes" or place in self._seen:
            return None
        if run:
            runs = self._runs.setdefault(id(frame.f_code), set())
            if run not in runs and len(runs) >= STEP_CAP:
                self.capped += 1
                return None
            runs.add(run)
        self._seen.add(place)
        names = (frame_name(frame), name)
        self._counts[names] += 1
        line = frame.f_lineno or frame.f_code.co_firstlineno
        return Site(names[0], name, self._counts[names], "opcode", frame.f_code.co_filename, line, step)

    def _dynamic_site(
        self, caller: FrameType, name: Callable[[], str], kind: str, step: int, cap: int
    ) -> Site | None:
        names = (frame_name(caller), name())
        self._counts[names] += 1
        count = self._counts[names]
        if count > cap:
            self.capped += 1
            return None
        return Site(names[0], names[1], count, kind, caller.f_code.co_filename, caller.f_lineno, step)

    def _stack_places(self, frame: FrameType) -> list[tuple[int, int]]:
        places: list[tuple[int, int]] = []
        place: FrameType | None = frame.f_back
        while place is not None and len(places) < self.depth - 1:
            if place.f_globals.get("__name__") != _STANDINS:
                places.append((id(place.f_code), place.f_lasti))
            place = place.f_back
        return places

    def _stack_names(self, frame: FrameType) -> tuple[str, ...]:
        names: list[str] = []
        place: FrameType | None = frame.f_back
        while place is not None and len(names) < self.depth - 1:
            if place.f_globals.get("__name__") != _STANDINS:
                name = frame_name(place)
                if name.startswith("faultinject."):
                    break
                names.append(name)
            place = place.f_back
        return tuple(reversed(names))
