"""Which runner takes which case, and which cases speak for which."""

from __future__ import annotations

import random
from collections.abc import Sequence

from faultinject.facts import Case, CaseResult, Owned, Point, Recording
from faultinject.faults import HANG, SecondFault
from faultinject.sweep._options import Options

_NOT_IN_A_COPY = frozenset(
    {
        "processes",
        "threads",
        "shared memory",
        "semaphores",
        "temporary files",
        "multiprocessing",
        "zmq",
        "asyncio",
        "sockets",
        "file locks",
        "device memory",
        "locks",
    }
)
"""What a forked copy does not see as the original does, or would remove for the original too."""


def sampled(points: Sequence[Point], options: Options) -> list[Point]:
    """At most `options.limit` points; the first two calls of each site before any other, if there is room."""
    if not options.limit or len(points) <= options.limit:
        return list(points)
    first = [p for p in points if p.occurrence <= 2]
    rest = [p for p in points if p.occurrence > 2]
    source = random.Random(options.seed)
    source.shuffle(rest)
    # Where these alone are too many, the sample is of the whole run and not of its beginning.
    source.shuffle(first)
    kept = set(id(p) for p in (first + rest)[: options.limit])
    return [p for p in points if id(p) in kept]


def seconds_at(recording: Recording, faults: Sequence[str], point: Point) -> list[str]:
    """The second faults for a fault at `point`: at each release that is then due, in both phases."""
    found: list[str] = []
    returned = point.step if point.level == "opcodes" else point.step - 1
    for row in recording.owned:
        if not row.step <= returned or not can_fail(row):
            continue
        release = f"{row.name}.{row.release}"
        for fault in faults:
            found.append(SecondFault(release, "before", fault).text)
            if fault != HANG:
                found.append(SecondFault(release, "after", fault).text)
    return found


def can_fail(row: Owned) -> bool:
    """Whether the release of a row of the ownership table can be told from every other.

    A method of an object can, and the one function that restores process-wide state (``gc.unfreeze``); not
    so ``os.close``, which is told a number.
    """
    if row.made_in:
        return bool(row.release)
    is_state = bool(row.amounts) and not any(amount.startswith("+") for amount in row.amounts)
    return is_state and bool(row.release) and ", " not in row.release


def starts_of(recording: Recording) -> dict[str, str]:
    """The step calls (``callee#occurrence``) that hand over an object which `objects` does not have."""
    found: dict[str, str] = {}
    for row in recording.owned:
        if row.made_in and row.name not in recording.objects:
            same = [step.number for step in recording.steps if step.callee == row.callee]
            found[f"{row.callee}#{sum(number <= row.step for number in same)}"] = row.name
    return found


def split(
    cases: Sequence[Case], recording: Recording, options: Options, screen: bool, device: bool
) -> tuple[list[Case], list[Case]]:
    """(cases to screen by fork, cases to run whole).

    A case moves to the zygote by itself where, at its point, the target holds something that a forked
    copy does not see as the original does, or where a device is initialised.
    """
    if options.runner in ("zygote", "spawn") or device:
        return [], list(cases)
    if options.runner == "fork" or screen:
        return list(cases), []
    awkward = _awkward_from(recording)
    forked = [c for c in cases if c.point.step < awkward]
    return forked, [c for c in cases if c.point.step >= awkward]


def _awkward_from(recording: Recording) -> float:
    """The first step in which something comes to life that a copy would not see."""
    if any(probe in _NOT_IN_A_COPY for probe, _ in recording.holds):
        for step in recording.steps:
            if any(a.probe in _NOT_IN_A_COPY for a in step.acquired):
                return step.number
        return 0
    # Things that came and went within a step leave no trace in the steps; the residue may show them.
    for step in recording.steps:
        if any(a.probe in _NOT_IN_A_COPY for a in step.acquired):
            return step.number
    return float("inf")


def class_of(result: CaseResult) -> tuple[object, ...]:
    """Cases with the same verdict, charges, owned set and faults unwind alike, whatever the phase."""
    problems = tuple(sorted((p.verdict, p.charged_to, p.violation, p.resources) for p in result.problems))
    # A second fault that never came has changed nothing; whether it came in a copy that hangs is not known.
    second = result.second if result.second_reached or result.verdict == "hang" else ""
    return (result.verdict, result.violation, result.owned, result.fault, second, problems)
