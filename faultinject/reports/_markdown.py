"""Markdown, for GitHub's step summary, a merge request or a chat."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from faultinject.facts import CaseResult, Finding, Recording
from faultinject.matrix import columns_of, must_release_at, tabulate
from faultinject.points import short_name
from faultinject.reports._matrix import verdict_counts
from faultinject.reports._screen import plain
from faultinject.reports._suite import KINDS, Change, Suite
from faultinject.reports._words import counted

ROWS: Final = 100
"""Rows of a table before it is cut: GitHub takes a step summary of at most 1 MiB."""

_STATUS: Final = {
    0: "The gate passes",
    1: "**The gate fails**",
    2: "**The gate fails: it could not be swept**",
    3: "**Changed: review, then accept**",
}


def render_markdown(suites: Sequence[Suite]) -> str:
    """A section for each sweep: what came of it, the findings, and the matrix folded away."""
    return "\n".join(_suite(suite) for suite in suites)


def _suite(suite: Suite) -> str:
    version = suite.environment.target_version
    lines = [f"### faultinject: {code(suite.recording.target)} {escaped(version)}".rstrip(), ""]
    lines += [_verdict(suite), ""]
    ruling = suite.ruling
    changes = ruling.changes if ruling is not None else ()
    if changes:
        lines += [*table(("", "what", "where", "to do"), [_change(change) for change in changes]), ""]
    failing = suite.findings_of(suite.failing())
    if failing:
        header = ("verdict", "what is missing", "cases", "replay")
        lines += [*table(header, [_finding(suite, finding) for finding in failing]), ""]
    excused = suite.excused()
    if excused:
        where = ruling.baseline if ruling is not None else ""
        lines += [f"{counted(len(excused), 'case')} suppressed in {code(where)}.", ""]
    for note in ruling.notes if ruling is not None else ():
        lines += [f"{escaped(f'{note[:1].upper()}{note[1:]}')}.", ""]
    if suite.summary.nested:
        verb = "has" if suite.summary.nested == 1 else "have"
        nested = counted(suite.summary.nested, "case")
        lines += [f"{nested} {verb} something charged to a frame beneath the target.", ""]
    matrix = _matrix(suite.recording, suite.results)
    if matrix:
        lines += ["<details><summary>Lifecycle matrix</summary>", "", *matrix, "", "</details>", ""]
    return "\n".join(lines)


def _verdict(suite: Suite) -> str:
    cases = f"{counted(len(suite.results), 'case')} at level {suite.recording.level}"
    kinds = f" ({verdict_counts(suite.summary.verdicts)})" if suite.summary.verdicts else ""
    incomplete = "" if suite.summary.complete else " The sweep was interrupted."
    ruling = suite.ruling
    if ruling is None:
        violations = suite.summary.violations
        what = f"**{counted(violations, 'violation')}**" if violations else "No violation"
        return f"{what} in {cases}{kinds}.{incomplete}"
    ran = f"{ruling.ran:,} of {ruling.found:,} cases ran at level {suite.recording.level}"
    if suite.broken:
        return f"{_STATUS[ruling.status]}."
    return f"{_STATUS[ruling.status]}: {ran}{kinds}.{incomplete}"


def _change(change: Change) -> tuple[str, ...]:
    where = f"{change.file}:{change.line}" if change.file else ""
    return KINDS[change.kind], escaped(change.title), code(where), escaped(change.text)


def _finding(suite: Suite, finding: Finding) -> tuple[str, ...]:
    return (
        finding.verdict,
        escaped(finding.handler),
        f"{finding.count:,}",
        code(suite.replay(finding.smallest)),
    )


def _matrix(recording: Recording, results: Sequence[CaseResult]) -> list[str]:
    columns = columns_of(results)
    cells = tabulate(results)
    if not columns or recording.level == "milestones":
        return []
    steps = {step.number: step for step in recording.steps}
    rows: list[tuple[str, ...]] = []
    for number in sorted(cells):
        step = steps.get(number)
        owned = ", ".join(one.name for one in must_release_at(recording.owned, number))
        words = [_words(cells[number].get(column)) for column in columns]
        call = short_name(step.callee) if step is not None else "outside any call"
        rows.append((str(number or "-"), code(call), escaped(owned), *words))
    return table(("step", "call", "owned", *(escaped(column.label) for column in columns)), rows)


def _words(cell: Counter[str] | None) -> str:
    words = sorted(cell.items()) if cell is not None else []
    return ", ".join(f"{count} {word}" if count > 1 else word for word, count in words)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, cut: bool = True) -> list[str]:
    """The lines of a table, whose cells are Markdown already.

    Args:
        cut: after `ROWS`.
    """
    shown = rows[:ROWS] if cut else rows
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    lines += [f"| {' | '.join(row)} |" for row in shown]
    if len(rows) > len(shown):
        lines += ["", f"and {len(rows) - ROWS:,} more"]
    return lines


def escaped(text: str) -> str:
    """Text in which nothing is markup."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~$@])", r"\\\1", plain(text))


def code(text: str) -> str:
    """A code span; a backtick or a bar in it would end the span, or the cell."""
    return f"`{plain(text).replace('`', chr(39)).replace('|', chr(166))}`" if text else ""
