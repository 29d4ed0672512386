"""The cases of a target before anything runs: from a committed matrix or baseline, or from a recording."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from faultinject._reading import check_inside
from faultinject.errors import UsageError
from faultinject.facts import Phase, Point
from faultinject.gate import Baseline, baseline_path, read_baseline
from faultinject.matrix import Matrix, matrix_path, read_matrix
from faultinject.points import PHASES, module_of, parse_point_key, point_key, qualname_of, short_name
from faultinject.pytest_plugin._settings import Settings

T = TypeVar("T")
Kind = Literal["case", "whole", "broken"]
Source = Literal["recording", "matrix", "baseline"]


class Planned(msgspec.Struct, frozen=True):
    """One test to be.

    Attributes:
        kind: ``case``; ``whole`` for the test that the committed file has every fault point; ``broken`` for
            the one test of a target that cannot be recorded.
        title: what stands in brackets behind the test's name.
        key: finds the point in a recording, see `keys_of`.
        fault: its name.
        word: the verdict in the committed matrix, ``nested`` in front where that is charged beneath.
        why: of ``broken``: what is wrong.
    """

    kind: Kind
    title: str
    key: str = ""
    fault: str = ""
    word: str = ""
    why: str = ""


class Plan(msgspec.Struct, frozen=True):
    """The tests of one target.

    Attributes:
        faults: those that are swept.
        planned: in the order of the points.
        of: how many cases there are, those that the budget leaves out included.
        keys: of every point, as of `keys_of`, those that the budget leaves out included.
        source: the committed file they come from; empty for a recording.
        kind: what that file is.
        listed: the faults that it speaks of.
        second: whether it speaks of second faults.
        matrix: the committed matrix, which may declare ownership; empty where there is none.
        gate: the committed baseline of the gate, where what it suppresses is expected.
        notes: what the end of the run says of it.
    """

    faults: tuple[str, ...]
    planned: tuple[Planned, ...]
    of: int
    keys: tuple[str, ...] = ()
    source: str = ""
    kind: Source = "recording"
    listed: tuple[str, ...] = ()
    second: bool = False
    matrix: str = ""
    gate: Baseline | None = None
    notes: tuple[str, ...] = ()


def keys_of(points: Iterable[Point]) -> dict[str, Point]:
    """The points by what finds them again, in their order.

    At level ``steps`` that is phase, callee and how manieth of its kind in time, which a matrix tells too.
    """
    seen: Counter[tuple[str, str]] = Counter()
    found: dict[str, Point] = {}
    for point in points:
        if point.level != "steps":
            found[point_key(point)] = point
            continue
        seen[point.phase, point.callee] += 1
        found[f"{point.phase} {point.callee} #{seen[point.phase, point.callee]}"] = point
    return found


def plan_of_matrix(path: Path, settings: Settings) -> Plan | None:
    """What the committed matrix names; `None` where it does not tell single points.

    Raises:
        UsageError: it cannot be read, or is of another target.
    """
    options = settings.options
    if options.level != "steps" or not path.exists():
        return None
    matrix = read_matrix(check_inside(path, path.parent, "matrix"))
    columns = _columns(matrix)
    if matrix.level != "steps" or matrix.target != options.target.name or not columns:
        return None
    listed = tuple(dict.fromkeys(fault for _, fault in columns))
    faults = options.faults if settings.own_faults else listed
    points = options.filter.apply(_points(matrix), None)
    words = {(row.number, column): word for row in matrix.step for column, word in row.verdicts.items()}
    planned = [
        Planned("case", title, key, fault, _word(words.get((point.step, f"{point.phase} {fault}"))))
        for title, key, point, fault in _titled(points, faults)
    ]
    kept = within(planned, [0] * len(planned), settings)
    check = Planned("whole", "every call is in the committed matrix")
    return Plan(
        faults, (*kept, check), len(planned), tuple(keys_of(points)), str(path), "matrix", listed,
        bool(matrix.second), str(path),
    )  # fmt: skip


def plan_of_baseline(settings: Settings) -> Plan | None:
    """What the committed baseline of a gate names; `None` where there is none.

    Raises:
        UsageError: it cannot be read, or is of another target or level.
    """
    options = settings.options
    baseline = committed_baseline(settings)
    if baseline is None:
        return None
    faults = options.faults if settings.own_faults or not baseline.faults else baseline.faults
    points = options.filter.apply(tuple(map(parse_point_key, baseline.points)), None)
    planned = [Planned("case", title, key, fault) for title, key, _, fault in _titled(points, faults)]
    kept = within(planned, _depths(points, faults), settings)
    check = Planned("whole", "every fault point is in the committed baseline")
    matrix = committed(settings)
    declared = str(matrix) if matrix.exists() else ""
    path = baseline_path(settings.matrices, options.target.name, options.level)
    return Plan(
        faults, (*kept, check), len(planned), tuple(keys_of(points)), str(path), "baseline", baseline.faults,
        matrix=declared,
    )  # fmt: skip


def plan_of_points(points: Sequence[Point], settings: Settings) -> Plan:
    """What a recording names."""
    faults = settings.options.faults
    planned = [Planned("case", title, key, fault) for title, key, _, fault in _titled(points, faults)]
    kept = within(planned, _depths(points, faults), settings)
    return Plan(faults, tuple(kept), len(planned), tuple(keys_of(points)))


def _depths(points: Sequence[Point], faults: Sequence[str]) -> list[int]:
    """Of each case, how far beneath the target it is."""
    own = points[0].caller if points else ""
    return [len(point.stack) or int(point.caller != own) for point in points for _ in faults]


def committed(settings: Settings) -> Path:
    """Where the target's matrix is, if it is committed."""
    return matrix_path(settings.matrices, settings.options.target.name)


def committed_baseline(settings: Settings) -> Baseline | None:
    """The baseline of the gate for this target and level, if it is committed.

    Raises:
        UsageError: it cannot be read, or is of another target or level.
    """
    options = settings.options
    path = baseline_path(settings.matrices, options.target.name, options.level)
    if not path.exists():
        return None
    baseline = read_baseline(check_inside(path, path.parent, "baseline"))
    if (baseline.target, baseline.level) != (options.target.name, options.level):
        there = f"{baseline.target} at level {baseline.level}"
        raise UsageError(f"{path} is of {there}, not of {options.target.name} at level {options.level}")
    return baseline


def title_of(point: Point, fault: str) -> str:
    """Such as ``EngineCore.__init__:174 Scheduler before KeyboardInterrupt``."""
    callee = point.callee if point.kind == "opcode" else short_name(point.callee).removesuffix(".__init__")
    line = f":{point.line}" if point.line else ""
    again = f" #{point.occurrence}" if point.occurrence > 1 else ""
    return f"{short_name(point.caller)}{line} {callee}{again} {point.phase} {fault}"


def _titled(points: Iterable[Point], faults: Sequence[str]) -> list[tuple[str, str, Point, str]]:
    """(title, key, point, fault) of each case, each title once."""
    cases = [(title_of(p, f), key, p, f) for key, p in keys_of(points).items() for f in faults]
    taken = Counter(title for title, _, _, _ in cases)
    again: Counter[str] = Counter()
    titled: list[tuple[str, str, Point, str]] = []
    for title, key, point, fault in cases:
        again[title] += 1
        number = f" ({again[title]})" if taken[title] > 1 else ""
        titled.append((f"{title}{number}".replace("::", ":"), key, point, fault))
    return titled


def _columns(matrix: Matrix) -> list[tuple[Phase, str]]:
    """The columns in which a fault comes once, in the order of the file."""
    found: dict[tuple[Phase, str], None] = {}
    for row in matrix.step:
        for label in row.verdicts:
            phase, _, fault = label.partition(" ")
            if phase in PHASES and " " not in fault:
                found[phase, fault] = None
    return list(found)


def _points(matrix: Matrix) -> list[Point]:
    """The fault points that the verdicts of a matrix speak of."""
    points: list[Point] = []
    seen: Counter[tuple[str, str, str]] = Counter()
    frame = matrix.frame or f"{module_of(matrix.target)}:{qualname_of(matrix.target)}"
    for row in sorted(matrix.step, key=lambda row: row.number):
        caller = row.caller or frame
        for phase in PHASES:
            if row.number and any(label.startswith(f"{phase} ") for label in row.verdicts):
                seen[phase, caller, row.callee] += 1
                points.append(
                    Point(
                        "steps", phase, caller, row.callee, seen[phase, caller, row.callee],
                        line=row.line, step=row.number,
                    )
                )  # fmt: skip
    return points


def _word(cell: str | dict[str, int] | None) -> str:
    if isinstance(cell, dict):
        return next(iter(cell)) if len(cell) == 1 else ""
    return cell or ""


def within(planned: Sequence[T], depths: Sequence[int], settings: Settings) -> list[T]:
    """At most as many as the budget allows, the shallowest first and by chance among equals, in order."""
    if not settings.budget or len(planned) <= settings.budget:
        return list(planned)
    places = list(range(len(planned)))
    random.Random(settings.seed).shuffle(places)
    places.sort(key=lambda place: depths[place])
    return [planned[place] for place in sorted(places[: settings.budget])]
