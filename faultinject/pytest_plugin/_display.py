"""What a failing case shows: the user's own code, what was owned there, what is left, how to run it again."""

from __future__ import annotations

import linecache
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest._code.code import ReprEntry, ReprExceptionInfo, ReprFileLocation, ReprTraceback
from _pytest.outcomes import Failed

from faultinject.facts import CaseResult, Left, Observation, Owned, Point, Recording
from faultinject.matrix import release_order
from faultinject.points import describe_fault, short_name
from faultinject.reports import Root, seen_from
from faultinject.reports._words import GRADES, gravest, what_of
from faultinject.sweep import Judged

_AROUND = 3
"""Lines of code shown before the one at which the fault comes."""
_LEFT_SHOWN = 12
_STAYED = ("leak", "late", "state")

Place = tuple[str, int]


class CaseFailed(Failed):
    """A case that is a violation.

    Args:
        message: one line.
        place: file and line in the user's code.
        lines: what is shown; those that begin with ``E`` stand out.
    """

    def __init__(self, message: str, place: Place, lines: Sequence[str] = ()) -> None:
        super().__init__(message, pytrace=False)
        self.message = message
        self.place = place
        self.lines = list(lines) or [f"E   {message}"]

    def representation(self, *, short: bool = False) -> ReprExceptionInfo:
        """What pytest prints, sends between processes, and takes a summary's line from."""
        entries = [] if short else [ReprEntry(self.lines, None, None, None, "long")]
        crash = ReprFileLocation(self.place[0], self.place[1], self.message)
        return ReprExceptionInfo(ReprTraceback(entries, None, "long"), crash)


def failed_text(item: pytest.Item, message: str, text: str) -> CaseFailed:
    """A failure of the test itself, with its reason."""
    path, line, _ = item.reportinfo()
    shown = [f"E   {message}", *(f"E     {one}" for one in text.splitlines())]
    return CaseFailed(message, (os.path.relpath(path), (line or 0) + 1), shown)


def skipped(message: str) -> BaseException:
    """A skip that is shown at the test, not at the line of this package that raises it."""
    return pytest.skip.Exception(message, _use_item_location=True)


def failed_case(
    judged: Judged,
    recording: Recording,
    again: str,
    root: Path,
    accused: Sequence[Root],
    note: str = "",
) -> CaseFailed:
    """The failure of a case.

    Args:
        again: the command that runs it again.
        root: what files are shown as seen from.
        accused: the violations that make it one; others of the case are expected.
        note: a line about them.
    """
    result, seen = judged.result, judged.observation
    place = place_of(result.point, seen, root)
    fault = describe_fault(result.fault, result.second)
    message = _headline(result, accused)
    lines = [*_code(result, place, fault, root), ""]
    lines += _owned(judged, recording, root)
    lines += _section("What is left:", _left(seen, recording, root))
    lines += _section("The caller got:", _chain(result, seen))
    if seen is not None and seen.hang_stack:
        lines += _section("Where it hung:", seen.hang_stack.splitlines())
    lines += [f"E   {text}" for text in _problems(result, accused)]
    lines += [f"E   {note}"] if note else []
    lines += ["", f"Run this case alone: {again}"]
    return CaseFailed(message, place, lines)


def place_of(point: Point, seen: Observation | None, root: Path) -> Place:
    """Where the fault comes in the user's code, the file as seen from the project."""
    if seen is not None and seen.place:
        file, _, line = seen.place.rpartition(":")
        return seen_from(file, root), int(line) if line.isdecimal() else point.line
    return seen_from(point.file, root), point.line


def _code(result: CaseResult, place: Place, fault: str, root: Path) -> list[str]:
    point = result.point
    callee = point.callee if point.kind == "opcode" else short_name(point.callee)
    how = "in place of" if result.phase == "before" else "out of"
    what = f"{place[0]}:{place[1]}: {fault} comes {how} {callee}"
    source = linecache.getlines(str(root / place[0]))
    if not 0 < place[1] <= len(source):
        return [what]
    shown = [what, ""]
    first = max(1, place[1] - _AROUND)
    for number in range(first, place[1] + 1):
        sign = ">" if number == place[1] else " "
        shown.append(f"{sign} {number:>5}  {source[number - 1].rstrip()}")
    return shown


def _owned(judged: Judged, recording: Recording, root: Path) -> list[str]:
    result = judged.result
    rows = [row for row in recording.owned if row.name in result.owned]
    target = short_name(recording.frame or recording.target)
    if not rows:
        return [f"{target} owned nothing there."]
    table = [("", "acquired at", "released by", "")]
    table += [
        (_name(row), _acquired(row, recording, root), row.release or "nothing known", _state(row, judged))
        for row in release_order(rows)
    ]
    widths = [max(len(row[i]) for row in table) for i in range(3)]
    shown = [f"{target} owned there, first to be released first:"]
    for row in table:
        cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        shown.append(f"    {cells}  {row[3]}".rstrip())
    return shown


def _name(row: Owned) -> str:
    return f"{row.name} ({', '.join(row.amounts)})" if row.amounts else row.name


def _acquired(row: Owned, recording: Recording, root: Path) -> str:
    step = next((step for step in recording.steps if step.number == row.step), None)
    if step is None or not step.line:
        return short_name(row.callee)
    return f"{seen_from(step.file, root)}:{step.line} {short_name(row.callee)}"


def _state(row: Owned, judged: Judged) -> str:
    result, seen = judged.result, judged.observation
    left = {one.step for one in seen.left if not one.nested} if seen is not None else set()
    accused = {name for p in result.problems if p.verdict in _STAYED for name in p.resources}
    if row.name in accused or row.step in left:
        return "LEFT"
    return "released" if row.name in result.released else ""


def _left(seen: Observation | None, recording: Recording, root: Path) -> list[str]:
    if seen is None:
        return []
    steps = {step.number: step for step in recording.steps}
    lines: list[str] = []
    for one in seen.left[:_LEFT_SHOWN]:
        lines.append(f"{one.item.label} ({one.probe}), {GRADES[one.grade]}{_beneath(one)}")
        step = steps.get(one.step)
        if step is not None and step.line:
            lines[-1] += f"; from {seen_from(step.file, root)}:{step.line}"
    if len(seen.left) > _LEFT_SHOWN:
        lines.append(f"and {len(seen.left) - _LEFT_SHOWN} more")
    lines += [f"{one.label}: {one.before} before, {one.after} after ({one.probe})" for one in seen.state]
    return lines


def _beneath(one: Left) -> str:
    return f", charged to {short_name(one.charged_to)} beneath the target" if one.nested else ""


def _chain(result: CaseResult, seen: Observation | None) -> list[str]:
    raised = seen.raised if seen is not None else None
    if raised is None:
        if seen is not None and seen.returned:
            by = f" by {short_name(seen.handled_by)}" if seen.handled_by else ""
            return [f"no exception: the fault was swallowed{by}"]
        return [result.exception] if result.exception else []
    injected = " (injected)" if raised.same_object else ""
    lines = [f"{raised.type}: {raised.text}{injected}", *(f"  {link}" for link in raised.chain)]
    if raised.replaced_in:
        lines.append(f"  in place of the injected exception since {short_name(raised.replaced_in)}")
    if raised.altered:
        lines.append(f"  altered on its way: {', '.join(raised.altered)}")
    return lines


def _headline(result: CaseResult, accused: Sequence[Root]) -> str:
    verdicts = [root.verdict for root in accused]
    if result.verdict in verdicts:
        return f"{result.verdict}: {gravest(result)}"
    wrong = [p for p in result.problems if p.violation and p.verdict in verdicts]
    return f"{wrong[0].verdict}: {what_of(wrong[0])}"


def _problems(result: CaseResult, accused: Sequence[Root]) -> list[str]:
    roots = {(root.verdict, root.charged_to) for root in accused}
    told: list[tuple[int, str]] = []
    for problem in result.problems:
        text = f"{problem.verdict}: {what_of(problem)}"
        if not problem.violation:
            told.append((2, f"{text} (charged to {short_name(problem.charged_to)}, beneath the target)"))
        elif (problem.verdict, problem.charged_to) in roots:
            told.append((0, text))
        else:
            told.append((1, f"{text} (expected)"))
    return [text for _, text in sorted(told, key=lambda one: one[0])]


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [title, *(f"    {line}" for line in lines)] if lines else []
