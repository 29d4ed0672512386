"""What the template shows of a sweep: words only, no opinion.

Whatever comes from the target (names, messages, paths) passes `plain` here, and is escaped by the template.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from faultinject._plain import plain
from faultinject.facts import CaseResult, Finding, Owned, Recording, Summary
from faultinject.matrix import Column, by_release, columns_of, label_order, release_order, tabulate
from faultinject.points import describe_fault, describe_point, short_name
from faultinject.reports._gated import ruling_sentence
from faultinject.reports._html._tone import heat_of, tone_of
from faultinject.reports._matrix import LEGEND, SECOND_LEGEND, TREE_LEGEND, severity, short_fault, word_lines
from faultinject.reports._protocol import Environment
from faultinject.reports._suite import KINDS, Suite
from faultinject.reports._tables import names_owned_at
from faultinject.reports._words import GRADES, clock, counted, some, what_of

EXCUSED: Final = "suppressed"
"""The word on a case whose violations a gate's baseline lists; beside a verdict, never for one."""


@dataclass(frozen=True)
class Word:
    """A verdict as a button that filters by it."""

    verdict: str
    tone: str
    count: int


@dataclass(frozen=True)
class Cell:
    """A cell of a matrix.

    Attributes:
        column: its head, which a narrow screen shows in it.
        lines: what it says, the worst first.
        tone, heat: its colour, see `heat_of`.
        said: what a screen reader says.
    """

    column: str
    lines: tuple[str, ...]
    tone: str
    heat: int
    said: str


@dataclass(frozen=True)
class Row:
    number: int
    line: int
    call: str
    full: str
    file: str
    owned: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class ColumnHead:
    phase: str
    fault: str
    short: str
    often: str


@dataclass(frozen=True)
class SecondRow:
    release: str
    cells: tuple[Cell | None, ...]
    not_called: int


@dataclass(frozen=True)
class FindingView:
    title: str
    smallest: str
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SweepView:
    """A sweep, as the template shows it.

    Attributes:
        mood: of the sentence: ``good``, ``bad`` or ``review``.
        excused: what `baseline` suppresses.
        changes: what a gate fails for: the kind, a title, the place, and what to do.
    """

    title: str
    target: str
    tree: bool
    sentence: str
    mood: str
    words: tuple[Word, ...]
    columns: tuple[ColumnHead, ...]
    rows: tuple[Row, ...]
    legend: str
    labels: tuple[str, ...]
    second: tuple[SecondRow, ...]
    second_legend: str
    owned: tuple[tuple[str, str, str, str, str], ...]
    findings: tuple[FindingView, ...]
    baseline: str
    excused: tuple[FindingView, ...]
    nested: tuple[tuple[str, str, int, str, str], ...]
    apart: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    changes: tuple[tuple[str, str, str, str], ...]
    notes: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = field(default=())


def sweep_view(suite: Suite, *, alone: bool = True) -> SweepView:
    """The words of a sweep.

    Args:
        alone: no other is on the page.
    """
    recording, results, summary = suite.recording, suite.results, suite.summary
    mood, sentence = _sentence(suite, alone=alone)
    excused = suite.excused()
    second_excused = by_release(excused)
    tree = recording.level == "milestones"
    columns = columns_of(results)
    second = by_release(results)
    labels = sorted({label for cell in second.values() for label in cell.words}, key=label_order)
    return SweepView(
        title=plain(f"{recording.target} {suite.environment.target_version}".strip()),
        target=plain(recording.target),
        tree=tree,
        sentence=sentence,
        mood=mood,
        words=_verdicts(results, excused),
        columns=tuple(_head(column) for column in columns),
        rows=_rows(recording, results, columns, tabulate(excused), tree=tree),
        legend=TREE_LEGEND if tree else LEGEND,
        labels=tuple(plain(label) for label in labels),
        second=tuple(
            SecondRow(
                plain(release),
                tuple(
                    _cell(
                        cell.words.get(label),
                        second_excused[release].words.get(label) if release in second_excused else None,
                        plain(label),
                        f"release {release}",
                        counted=True,
                    )
                    for label in labels
                ),
                cell.not_called,
            )
            for release, cell in second.items()
        ),
        second_legend=SECOND_LEGEND,
        owned=() if tree else tuple(_owned(row) for row in release_order(recording.owned)),
        findings=tuple(_findings(suite, _charged(suite), {})),
        baseline=plain(suite.ruling.baseline) if suite.ruling is not None else "",
        excused=tuple(_findings(suite, suite.findings_of(excused), suite.reasons)),
        nested=tuple(_nested(summary)),
        apart=tuple(_apart(summary, results)),
        changes=_changes(suite),
        notes=tuple(plain(note) for note in (*recording.notes, *recording.unstable)),
        environment=_environment(suite.environment, summary),
    )


def mood_of(status: int) -> str:
    """How a sentence on the status of a gate looks."""
    return {0: "good", 3: "review"}.get(status, "bad")


def _sentence(suite: Suite, *, alone: bool) -> tuple[str, str]:
    summary = suite.summary
    if suite.ruling is not None:
        status, text = ruling_sentence(suite, alone=alone)
        mood, text = mood_of(status), text.replace("`", "")
    else:
        mood = "bad" if summary.violations else "good"
        cases = f"{counted(len(suite.results), 'case')} at level {suite.recording.level}"
        found = counted(summary.violations, "violation") if summary.violations else "No violation"
        text = f"{found} in {cases}."
    if summary.nested:
        verb = "has" if summary.nested == 1 else "have"
        text += f" {counted(summary.nested, 'case')} {verb} something charged to a frame beneath the target."
    return mood, text if summary.complete or suite.broken else f"{text} The sweep was interrupted."


def _changes(suite: Suite) -> tuple[tuple[str, str, str, str], ...]:
    changes = suite.ruling.changes if suite.ruling is not None else ()
    return tuple(
        (
            KINDS[change.kind],
            plain(change.title),
            plain(f"{change.file}:{change.line}" if change.file else ""),
            plain(change.text),
        )
        for change in changes
    )


def _verdicts(results: Sequence[CaseResult], excused: Sequence[CaseResult]) -> tuple[Word, ...]:
    counts, known = (Counter(result.verdict for result in part) for part in (results, excused))
    words = [
        Word(verdict, "excused" if counts[verdict] == known[verdict] else tone_of(verdict), counts[verdict])
        for verdict in sorted(counts, key=severity)
    ]
    return tuple([*words, Word(EXCUSED, "excused", len(excused))] if excused else words)


def _head(column: Column) -> ColumnHead:
    often = "" if column.times == 1 else "always" if column.times == 0 else f"x{column.times}"
    return ColumnHead(column.phase, plain(column.fault), plain(short_fault(column.fault)), often)


def _rows(
    recording: Recording,
    results: Sequence[CaseResult],
    columns: Sequence[Column],
    excused: Mapping[int, Mapping[Column, Counter[str]]],
    *,
    tree: bool,
) -> tuple[Row, ...]:
    cells = tabulate(results)
    steps = {step.number: step for step in recording.steps}
    counted = _is_counted(words for row in cells.values() for words in row.values())
    rows: list[Row] = []
    for number in sorted({*steps, *cells}):
        step = steps.get(number)
        owned = (step.caller if step is not None else "") if tree else names_owned_at(recording, number)
        call = plain(short_name(step.callee)) if step is not None else "outside any call"
        where = f"step {number}, {call}" if number else call
        words, known = cells.get(number, {}), excused.get(number, {})
        rows.append(
            Row(
                number=number,
                line=step.line if step is not None else 0,
                call=call,
                full=plain(step.callee) if step is not None else "",
                file=plain(step.file) if step is not None else "",
                owned=plain(owned),
                cells=tuple(
                    _cell(words.get(column), known.get(column), plain(column.label), where, counted=counted)
                    for column in columns
                ),
            )
        )
    return tuple(rows)


def _is_counted(cells: Iterable[Counter[str]]) -> bool:
    """Where a cell has more than one case, every cell is a count: one look, one meaning."""
    return any(words.total() > 1 for words in cells)


def _cell(
    words: Counter[str] | None, excused: Counter[str] | None, column: str, where: str, *, counted: bool
) -> Cell | None:
    if not words:
        return None
    tone, heat = heat_of(words, excused or Counter())
    said = ", ".join(f"{words[word]:,} {word}" for word in sorted(words, key=severity))
    lines = word_lines(words, counted=counted)
    if excused:
        said += f", {excused.total():,} {EXCUSED}"
        lines.append(f"{excused.total():,} {EXCUSED}" if counted else EXCUSED)
    return Cell(column, tuple(lines), tone, heat, plain(f"{where}, {column}: {said}"))


def _owned(row: Owned) -> tuple[str, str, str, str, str]:
    name = f"{row.name} (declared)" if row.source == "declared" else row.name
    step = f"{row.step} {short_name(row.callee)}"
    words = (name, step, row.holder or "-", row.release or "nothing known", ", ".join(row.amounts) or "-")
    a, b, c, d, e = map(plain, words)
    return a, b, c, d, e


def _charged(suite: Suite) -> Iterable[Finding]:
    """What is charged to the target, and not suppressed."""
    if suite.ruling is not None:
        return suite.findings_of(suite.failing())
    return (finding for finding in suite.summary.findings if finding.violation)


def _findings(suite: Suite, findings: Iterable[Finding], excused: Mapping[str, str]) -> list[FindingView]:
    known = {result.id: result for result in suite.results}
    return [
        FindingView(
            title=plain(f"{finding.verdict}, {counted(finding.count, 'case')}: {finding.handler}"),
            smallest=finding.smallest if finding.smallest in known else "",
            pairs=tuple(
                (word, plain(text))
                for word, text in (
                    *_details(suite, finding, known),
                    (EXCUSED, excused.get(finding.smallest, "").removeprefix(f"{EXCUSED} ")),
                )
                if text
            ),
        )
        for finding in findings
    ]


def _details(suite: Suite, finding: Finding, known: Mapping[str, CaseResult]) -> list[tuple[str, str]]:
    pairs = [
        ("place", finding.place),
        ("what", what_of(finding)),
        ("charged to", finding.charged_to),
    ]
    case = known.get(finding.smallest)
    if case is not None:
        grade = GRADES[case.grade] if case.grade is not None else ""
        pairs += [("left", some(case.left, 12)), ("grade", grade), ("caller got", case.exception)]
    return [*pairs, ("steady", finding.steady), ("replay", suite.replay(finding.smallest))]


def _nested(summary: Summary) -> list[tuple[str, str, int, str, str]]:
    nested = [finding for finding in summary.findings if not finding.violation]
    nested.sort(key=lambda finding: (-finding.count, finding.charged_to, finding.smallest))
    return [
        (
            plain(short_name(finding.charged_to)),
            finding.verdict,
            finding.count,
            plain(some(finding.resources, 3) if finding.resources else finding.what or "-"),
            finding.smallest,
        )
        for finding in nested
    ]


def _apart(summary: Summary, results: Sequence[CaseResult]) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """Cases that are no pass and accuse nobody."""
    known = {result.id: result for result in results}
    unsteady = [known[i] for i in summary.unsteady if i in known]
    missed = [result for result in results if result.verdict == "not-reached"]
    return [
        (title, tuple((case.id, plain(_said(case))) for case in cases))
        for title, cases in (
            (f"Unsteady: {counted(len(unsteady), 'case')} whose repetitions disagree", unsteady),
            (f"Not reached: {counted(len(missed), 'case')} of which nothing is known", missed),
        )
        if cases
    ]


def _said(case: CaseResult) -> str:
    runs = f": {', '.join(case.runs)}" if case.runs else ""
    return f"{describe_point(case.point)}, {describe_fault(case.fault, case.second)}{runs}"


def _environment(environment: Environment, summary: Summary) -> tuple[tuple[str, str], ...]:
    absent = ", ".join(f"{name} ({why})" for name, why in sorted(environment.absent_probes.items()))
    pairs = (
        ("command", " ".join(environment.command)),
        ("faults", ", ".join(environment.faults)),
        ("faultinject", environment.faultinject),
        ("Python", environment.python),
        ("platform", environment.platform),
        ("runner", environment.runner),
        ("backend", environment.backend),
        ("not looked at", absent),
        ("seed", "" if environment.seed is None else str(environment.seed)),
        ("confirmed", counted(summary.confirmed, "case")),
        ("took", clock(summary.seconds)),
    )
    return tuple((word, plain(text)) for word, text in pairs if text)
