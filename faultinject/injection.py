"""Faults in this process: one named callable fails when it is called, several such make a schedule.

What is named is replaced where it is looked up, as `unittest.mock.patch` does: whoever did ``from module
import function`` keeps the original, so name it in the module that uses it. For isolation, and for every
place a target has, sweep it; this is for a test that wants one fault at one place, or a few together.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from threading import Lock
from types import FrameType

import msgspec

from faultinject.backends._patching import Patch
from faultinject.backends._standins import make_wrapper
from faultinject.errors import UsageError
from faultinject.facts import Phase
from faultinject.faults import FaultSpec, deliver, make, parse_fault
from faultinject.points import PHASES


class Injection(msgspec.Struct, frozen=True, order=True):
    """One fault at one named place.

    Attributes:
        place: ``module:qualname`` of what is called; a class stands for its ``__init__``.
        fault: a name of the catalogue, or a dotted path.
        phase: ``before``: in place of the call. ``after``: out of it, its work done.
        occurrence: 1 for the first call while the injection lasts, and so on.
        times: how many calls in a row fail, from that one on; 0 for all of them.
    """

    place: str
    fault: str = "RuntimeError"
    phase: Phase = "before"
    occurrence: int = 1
    times: int = 1

    def __str__(self) -> str:
        which = f" #{self.occurrence}" if self.occurrence > 1 else ""
        often = "" if self.times == 1 else " for ever" if not self.times else f" {self.times} times"
        return f"{self.fault} {self.phase} {self.place}{which}{often}"


Schedule = tuple[Injection, ...]
"""Faults that wait for their calls at the same time."""


class Injected:
    """What became of a schedule.

    Attributes:
        schedule: the injections.
        calls: by place, how often it was called.
        fired: the injections that came, in their order; one that came more than once more than once.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.calls: dict[str, int] = {}
        self.fired: list[Injection] = []

    @property
    def reached(self) -> bool:
        """Whether each injection came."""
        return all(one in self.fired for one in self.schedule)

    @property
    def missed(self) -> tuple[Injection, ...]:
        """The injections that did not come."""
        return tuple(one for one in self.schedule if one not in self.fired)


@contextmanager
def injected(*schedule: Injection) -> Iterator[Injected]:
    """Make the named calls fail while the block runs, in every thread of this process.

    Raises:
        UsageError: a place is not found or cannot be replaced, a fault is unknown, a number is too small.
    """
    seen = Injected(schedule)
    by_place: dict[str, list[Injection]] = {}
    for one in schedule:
        _check(one)
        by_place.setdefault(one.place, []).append(one)
    with ExitStack() as undo:
        for place, waiting in by_place.items():
            patch = Patch(_called(place), "the place")
            teller = _Teller(seen, place, [(one, parse_fault(one.fault)) for one in waiting])
            # First in the stack, so that what was put half-way is taken back as well.
            undo.callback(patch.take_back)
            patch.put(make_wrapper(teller, place, patch.function, patch.call))
        yield seen


def _check(one: Injection) -> None:
    if one.phase not in PHASES:
        raise UsageError(f"{one.place}: unknown phase {one.phase!r}: choose from {', '.join(PHASES)}")
    if one.occurrence < 1:
        raise UsageError(f"{one.place}: occurrence {one.occurrence}: the first call is number 1")
    if one.times < 0:
        raise UsageError(f"{one.place}: times {one.times}: give how many calls fail, or 0 for all")


def _called(place: str) -> str:
    """What to replace: of a class made in Python its ``__init__``, so that the class stays what it is."""
    patch = Patch(place, "the place")
    if isinstance(patch.function, type) and inspect.isfunction(getattr(patch.function, "__init__", None)):
        return f"{place}.__init__"
    return place


class _Teller:
    """Counts the calls of one place, and raises at those that are to fail."""

    def __init__(self, seen: Injected, place: str, waiting: Sequence[tuple[Injection, FaultSpec]]) -> None:
        self.seen = seen
        self.place = place
        self.waiting = waiting
        self._lock = Lock()

    def begin(self, frame: FrameType, name: str, function: object) -> int:
        __tracebackhide__ = True
        with self._lock:
            number = self.seen.calls[self.place] = self.seen.calls.get(self.place, 0) + 1
            due = self._due("before", number)
        if due is not None:
            _strike(due, f"before {self.place}")
        return number

    def end(self, frame: FrameType, function: object, call: int) -> None:
        __tracebackhide__ = True
        with self._lock:
            due = self._due("after", call)
        if due is not None:
            _strike(due, f"after {self.place}")

    def failed(self, frame: FrameType, function: object, call: int) -> None:
        """Nothing to do: a fault out of a call needs one that ends."""

    def _due(self, phase: Phase, number: int) -> FaultSpec | None:
        """The fault of that call, if it has one."""
        for one, spec in self.waiting:
            last = one.occurrence + one.times if one.times else number + 1
            if one.phase == phase and one.occurrence <= number < last:
                self.seen.fired.append(one)
                return spec
        return None


def _strike(spec: FaultSpec, where: str) -> None:
    __tracebackhide__ = True
    if spec.kind == "signal":
        deliver(spec)
    else:
        raise make(spec, where)


def fault_name(fault: object) -> str:
    """The name of a fault that is given as a name or as an exception class."""
    if isinstance(fault, str):
        return fault
    if isinstance(fault, type) and issubclass(fault, BaseException):
        return (
            fault.__name__ if fault.__module__ == "builtins" else f"{fault.__module__}:{fault.__qualname__}"
        )
    raise UsageError(f"{fault!r} is no fault: give a name such as OSError:ENOSPC, or an exception class")
