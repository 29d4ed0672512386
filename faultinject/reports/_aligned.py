"""Two lifecycle matrices, row by row: which call of the one target is which of the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from faultinject.facts import CaseResult, Phase, Recording, Verdict
from faultinject.matrix import word_of

Key = tuple[str, int]
"""What is called, and the how manieth call of it by the target it is; ``("", 0)`` outside of any call."""

Words = Mapping[Phase, Counter[str]]

OUTSIDE: Key = ("", 0)
_ITSELF = "<target>"


@dataclass
class Row:
    """A call that a target makes, with the words on its cases.

    Attributes:
        callee: ``module:qualname``, ``""`` outside of any call.
        step: its number, 0 where it has none.
        words: by phase, how often each word came.
    """

    callee: str
    step: int
    words: dict[Phase, Counter[str]] = field(default_factory=dict)


def callees_of(recording: Recording) -> frozenset[str]:
    """What the target's own frames call."""
    return frozenset(step.callee for step in recording.steps)


def rows_of(
    recording: Recording, results: Iterable[CaseResult], common: frozenset[str] = frozenset()
) -> dict[Key, Row]:
    """The rows of one matrix, in the order of the steps.

    At level ``steps`` a point is a call of the target itself, whichever of its own frames makes it. At any
    other level a point belongs to the call within which it lies.

    Args:
        common: what both targets call by the same name. Any other method of the target's own class stands
            for that of the other's class.
    """
    owner = _owner(recording)
    rows: dict[Key, Row] = {}
    by_step: dict[int, Key] = {}
    calls: Counter[str] = Counter()

    def add(callee: str, step: int) -> Key:
        method = owner and callee not in common and callee.startswith(f"{owner}.")
        name = _ITSELF + callee.removeprefix(owner) if method else callee
        calls[name] += 1
        key = (name, calls[name])
        rows[key] = Row(callee, step)
        return key

    single = [result for result in results if not result.second]
    if recording.level == "steps":
        points = [*recording.points, *(result.point for result in single)]
        known: dict[tuple[str, str, int], Key] = {}
        for point in sorted(points, key=lambda point: point.step):
            identity = (point.caller, point.callee, point.occurrence)
            if identity not in known:
                known[identity] = add(point.callee, point.step)
        for result in single:
            point = result.point
            _count(rows[known[point.caller, point.callee, point.occurrence]], result)
        return rows
    for step in sorted(recording.steps, key=lambda step: step.number):
        by_step[step.number] = add(step.callee, step.number)
    for result in sorted(single, key=lambda result: result.point.step):
        number = result.point.step
        if number and number not in by_step:
            by_step[number] = add(result.point.callee, number)
        key = by_step.get(number, OUTSIDE)
        _count(rows.setdefault(key, Row("", 0)), result)
    if OUTSIDE in rows:
        return {OUTSIDE: rows.pop(OUTSIDE), **rows}
    return rows


def align(a: Mapping[Key, Row], b: Mapping[Key, Row]) -> list[tuple[Row | None, Row | None]]:
    """The rows of both side by side, in the order of `a`.

    A row that only `b` has comes after the one that it follows there.
    """
    order = list(a)
    place = 0
    for key in b:
        if key in a:
            place = order.index(key) + 1
        else:
            order.insert(place, key)
            place += 1
    return [(a.get(key), b.get(key)) for key in order]


def beneath(results: Sequence[CaseResult]) -> dict[str, Counter[Verdict]]:
    """By frame beneath the target, in how many cases each verdict is charged to it; the most first."""
    found: dict[str, Counter[Verdict]] = {}
    for result in results:
        for name, verdict in {(p.charged_to, p.verdict) for p in result.problems if not p.violation}:
            if name and verdict not in ("handled", "not-reached"):
                found.setdefault(name, Counter())[verdict] += 1
    return dict(sorted(found.items(), key=lambda item: (-item[1].total(), item[0])))


def _count(row: Row, result: CaseResult) -> None:
    row.words.setdefault(result.phase, Counter())[word_of(result)] += 1


def _owner(recording: Recording) -> str:
    """The class of the target, whose methods go by another name in another class."""
    module, _, qualname = recording.frame.partition(":")
    owner = qualname.rpartition(".")[0]
    return f"{module}:{owner}" if owner else ""
