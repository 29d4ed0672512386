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
from faultinject.reports._suite import Change, Suite
from faultinject.reports._words import counted

ROWS: Final = 100
"""Rows of a table before it is cut: GitHub takes a step summary of at most 1 MiB."""

_KINDS: Final = {
    "new": "new violation",
    "fixed": "fixed, still listed",
    "expired": "expired",
    "changed": "changed",
}
_STATUS: Final = {
    0: "The gate passes",
    1: "**The gate fails**",
    3: "**Changed: review, then accept**",
}


def render_markdown(suites: Sequence[Suite]) -> str:
    """A section for each sweep: what came of it, the findings, and the matrix folded away."""
    return "\n".join(_suite(suite) for suite in suites)


def _suite(suite: Suite) -> str:
    version = suite.environment.target_version
    lines = [f"### faultinject: {_code(suite.recording.target)} {_plain(version)}".rstrip(), ""]
    lines += [_verdict(suite), ""]
    ruling = suite.ruling
    changes = ruling.changes if ruling is not None else ()
    if changes:
        lines += [*_table(("", "what", "where", "to do"), [_change(change) for change in changes]), ""]
    failing = suite.findings_of(suite.failing())
    if failing:
        header = ("verdict", "what is missing", "cases", "replay")
        lines += [*_table(header, [_finding(finding) for finding in failing]), ""]
    excused = suite.excused()
    if excused:
        where = ruling.baseline if ruling is not None else ""
        lines += [f"{counted(len(excused), 'case')} suppressed in {_code(where)}.", ""]
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
    return f"{_STATUS[ruling.status]}: {ran}{kinds}.{incomplete}"


def _change(change: Change) -> tuple[str, ...]:
    where = f"{change.file}:{change.line}" if change.file else ""
    return _KINDS[change.kind], _plain(change.title), _code(where), _plain(change.text)


def _finding(finding: Finding) -> tuple[str, ...]:
    return (
        finding.verdict,
        _plain(finding.handler),
        f"{finding.count:,}",
        _code(f"faultinject replay {finding.smallest}"),
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
        rows.append((str(number or "-"), _code(call), _plain(owned), *words))
    return _table(("step", "call", "owned", *(column.label for column in columns)), rows)


def _words(cell: Counter[str] | None) -> str:
    words = sorted(cell.items()) if cell is not None else []
    return ", ".join(f"{count} {word}" if count > 1 else word for word, count in words)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows[:ROWS]]
    if len(rows) > ROWS:
        lines += ["", f"and {len(rows) - ROWS:,} more"]
    return lines


def _plain(text: str) -> str:
    """Text in which nothing is markup."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~$@])", r"\\\1", plain(text))


def _code(text: str) -> str:
    """A code span; a backtick or a bar in it would end the span, or the cell."""
    return f"`{plain(text).replace('`', chr(39)).replace('|', chr(166))}`" if text else ""
