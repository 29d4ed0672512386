"""What differs between two reports of one target, or of two versions of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec
from rich.console import Console

from faultinject.errors import UsageError
from faultinject.facts import CaseResult
from faultinject.gate._changes import (
    PointChanges,
    describe_keys,
    describe_moves,
    owned_rows,
    ownership_changes,
    point_changes,
)
from faultinject.matrix import word_of
from faultinject.points import describe_fault, describe_point, point_key
from faultinject.reports import Report, counted, encode, safe

DIFF_SCHEMA: Final = "faultinject-diff/1"
SHOWN: Final = 20


class Verdicts(msgspec.Struct, frozen=True):
    """A case that both have, judged otherwise; `was` and `is_now` are words of the lifecycle matrix."""

    point: str
    fault: str
    was: str
    is_now: str
    case: str


class Difference(msgspec.Struct, frozen=True):
    """What differs from A to B.

    Attributes:
        a, b: target and version of each.
        points: fault points that appeared, vanished or moved.
        owned: changes of the ownership table, in words.
        faults: what only one of them injected, in words.
        verdicts: cases that both have, judged otherwise.
        lines: how many fault points are the same, at another line.
    """

    schema: str
    a: str
    b: str
    points: PointChanges
    owned: tuple[str, ...]
    faults: tuple[str, ...]
    verdicts: tuple[Verdicts, ...]
    lines: int

    def __bool__(self) -> bool:
        return bool(self.points or self.owned or self.faults or self.verdicts)


class CaseKey(NamedTuple):
    """What is the same of a case whatever its target is called."""

    point: str
    fault: str
    times: int
    second: str


def diff_reports(a: Report, b: Report) -> Difference:
    """Compare two reports. Cases are the same where point and faults are, whatever the target is called.

    Raises:
        UsageError: they are of different levels, or one was cut short.
    """
    if a.level != b.level:
        raise UsageError(f"A is of level {a.level}, B of level {b.level}: sweep both at the same level")
    for name, report in (("A", a), ("B", b)):
        if not report.complete:
            raise UsageError(f"the report {name} was cut short: go on with `faultinject sweep --resume`")
    before, after = a.full_recording(), b.full_recording()
    old, new = (list(map(point_key, recording.points)) for recording in (before, after))
    lines = {point_key(point): point.line for point in before.points}
    faults = [
        f"only A injects {fault}" for fault in a.environment.faults if fault not in b.environment.faults
    ]
    faults += [
        f"only B injects {fault}" for fault in b.environment.faults if fault not in a.environment.faults
    ]
    return Difference(
        DIFF_SCHEMA,
        _title(a),
        _title(b),
        point_changes(old, new, a.level),
        ownership_changes(owned_rows(before.owned), owned_rows(after.owned)),
        tuple(faults),
        tuple(_verdicts(by_key(a), by_key(b))),
        sum(lines.get(point_key(point), point.line) != point.line for point in after.points),
    )


def encode_difference(difference: Difference) -> bytes:
    """The JSON document."""
    return encode(difference) + b"\n"


def print_difference(console: Console, found: Difference) -> None:
    """What differs, and nothing of what does not."""

    def say(text: str, style: str = "") -> None:
        console.print(safe(text, style), soft_wrap=not console.is_terminal)

    say(f"A: {found.a}")
    say(f"B: {found.b}")
    for noun, what, number, lines in (
        ("fault point", " appeared", len(found.points.appeared), describe_keys(found.points.appeared)),
        ("fault point", " vanished", len(found.points.vanished), describe_keys(found.points.vanished)),
        ("fault point", " moved", len(found.points.moved), describe_moves(found.points.moved)),
        ("change", " of ownership", len(found.owned), list(found.owned)),
        ("difference", " in what is injected", len(found.faults), list(found.faults)),
        ("case", " judged otherwise", len(found.verdicts), _grouped(found.verdicts)),
    ):
        if number:
            say(f"{counted(number, noun)}{what}", "bold")
            for line in lines[:SHOWN]:
                say(f"  {line}")
            if len(lines) > SHOWN:
                say(f"  and {len(lines) - SHOWN:,} more")
    if found.lines:
        say(f"{counted(found.lines, 'fault point')} at another line, and otherwise the same")
    say("A and B differ." if found else "A and B do not differ.", "bold")


def _grouped(verdicts: tuple[Verdicts, ...]) -> list[str]:
    groups: dict[tuple[str, str, str], list[Verdicts]] = {}
    for one in verdicts:
        groups.setdefault((one.was, one.is_now, one.point), []).append(one)
    return [
        f"{was} -> {now}: {point}: {', '.join(f'{one.fault} [{one.case}]' for one in group)}"
        for (was, now, point), group in groups.items()
    ]


def by_key(report: Report) -> dict[CaseKey, CaseResult]:
    """The cases of a report."""
    return {case_key(result): result for result in report.cases}


def case_key(result: CaseResult) -> CaseKey:
    """The key of a case."""
    return CaseKey(point_key(result.point), result.fault, result.times, result.second)


def _verdicts(before: dict[CaseKey, CaseResult], after: dict[CaseKey, CaseResult]) -> Iterator[Verdicts]:
    for key, result in after.items():
        if key in before and word_of(before[key]) != word_of(result):
            yield Verdicts(
                describe_point(result.point),
                describe_fault(result.fault, result.second),
                word_of(before[key]),
                word_of(result),
                result.id,
            )


def _title(report: Report) -> str:
    return f"{report.target} {report.environment.target_version}".strip()
