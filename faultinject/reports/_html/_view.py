"""What the template shows of a sweep: words only, no opinion.

Whatever comes from the target (names, messages, paths) passes `plain` here, and is escaped by the template.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from faultinject._plain import plain
from faultinject.facts import CaseResult, Finding, Owned, Recording, Summary
from faultinject.matrix import Column, by_release, columns_of, label_order, release_order, tabulate
from faultinject.points import describe_fault, describe_point, short_name
from faultinject.reports._html._tone import heat_of, tone_of
from faultinject.reports._matrix import LEGEND, SECOND_LEGEND, TREE_LEGEND, severity, short_fault, word_lines
from faultinject.reports._protocol import Environment
from faultinject.reports._suite import Suite
from faultinject.reports._tables import names_owned_at
from faultinject.reports._words import GRADES, clock, counted, some, what_of


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
    """A sweep, as the template shows it."""

    title: str
    target: str
    tree: bool
    sentence: str
    bad: bool
    words: tuple[Word, ...]
    columns: tuple[ColumnHead, ...]
    rows: tuple[Row, ...]
    legend: str
    labels: tuple[str, ...]
    second: tuple[SecondRow, ...]
    second_legend: str
    owned: tuple[tuple[str, str, str, str, str], ...]
    findings: tuple[FindingView, ...]
    nested: tuple[tuple[str, str, int, str, str], ...]
    apart: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    changes: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = field(default=())


def sweep_view(suite: Suite) -> SweepView:
    """The words of a sweep."""
    recording, results, summary = suite.recording, suite.results, suite.summary
    tree = recording.level == "milestones"
    columns = columns_of(results)
    second = by_release(results)
    labels = sorted({label for cell in second.values() for label in cell.words}, key=label_order)
    return SweepView(
        title=plain(f"{recording.target} {suite.environment.target_version}".strip()),
        target=plain(recording.target),
        tree=tree,
        sentence=_sentence(suite),
        bad=bool(summary.violations),
        words=_verdicts(results),
        columns=tuple(_head(column) for column in columns),
        rows=_rows(recording, results, columns, tree=tree),
        legend=TREE_LEGEND if tree else LEGEND,
        labels=tuple(plain(label) for label in labels),
        second=tuple(
            SecondRow(
                plain(release),
                tuple(
                    _cell(cell.words.get(label), plain(label), f"release {release}", counted=True)
                    for label in labels
                ),
                cell.not_called,
            )
            for release, cell in second.items()
        ),
        second_legend=SECOND_LEGEND,
        owned=() if tree else tuple(_owned(row) for row in release_order(recording.owned)),
        findings=tuple(_findings(summary, results)),
        nested=tuple(_nested(summary)),
        apart=tuple(_apart(summary, results)),
        changes=tuple((plain(change.title), plain(change.text)) for change in suite.other_changes()),
        notes=tuple(plain(note) for note in (*recording.notes, *recording.unstable)),
        environment=_environment(suite.environment, summary),
    )


def _sentence(suite: Suite) -> str:
    summary = suite.summary
    cases = f"{counted(len(suite.results), 'case')} at level {suite.recording.level}"
    found = counted(summary.violations, "violation") if summary.violations else "no violation"
    text = f"{found[:1].upper()}{found[1:]} in {cases}."
    if summary.nested:
        verb = "has" if summary.nested == 1 else "have"
        text += f" {counted(summary.nested, 'case')} {verb} something charged to a frame beneath the target."
    return text if summary.complete else f"{text} The sweep was interrupted."


def _verdicts(results: Sequence[CaseResult]) -> tuple[Word, ...]:
    counts = Counter(result.verdict for result in results)
    return tuple(Word(verdict, tone_of(verdict), counts[verdict]) for verdict in sorted(counts, key=severity))


def _head(column: Column) -> ColumnHead:
    often = "" if column.times == 1 else "always" if column.times == 0 else f"x{column.times}"
    return ColumnHead(column.phase, plain(column.fault), plain(short_fault(column.fault)), often)


def _rows(
    recording: Recording, results: Sequence[CaseResult], columns: Sequence[Column], *, tree: bool
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
        words = cells.get(number, {})
        rows.append(
            Row(
                number=number,
                line=step.line if step is not None else 0,
                call=call,
                full=plain(step.callee) if step is not None else "",
                file=plain(step.file) if step is not None else "",
                owned=plain(owned),
                cells=tuple(
                    _cell(words.get(column), plain(column.label), where, counted=counted)
                    for column in columns
                ),
            )
        )
    return tuple(rows)


def _is_counted(cells: Iterable[Counter[str]]) -> bool:
    """Where a cell has more than one case, every cell is a count: one look, one meaning."""
    return any(words.total() > 1 for words in cells)


def _cell(words: Counter[str] | None, column: str, where: str, *, counted: bool) -> Cell | None:
    if not words:
        return None
    tone, heat = heat_of(words)
    said = ", ".join(f"{words[word]:,} {word}" for word in sorted(words, key=severity))
    lines = word_lines(words, counted=counted)
    return Cell(column, tuple(lines), tone, heat, plain(f"{where}, {column}: {said}"))


def _owned(row: Owned) -> tuple[str, str, str, str, str]:
    name = f"{row.name} (declared)" if row.source == "declared" else row.name
    step = f"{row.step} {short_name(row.callee)}"
    words = (name, step, row.holder or "-", row.release or "nothing known", ", ".join(row.amounts) or "-")
    a, b, c, d, e = map(plain, words)
    return a, b, c, d, e


def _findings(summary: Summary, results: Sequence[CaseResult]) -> list[FindingView]:
    known = {result.id: result for result in results}
    return [
        FindingView(
            title=plain(f"{finding.verdict}, {counted(finding.count, 'case')}: {finding.handler}"),
            smallest=finding.smallest if finding.smallest in known else "",
            pairs=tuple((word, plain(text)) for word, text in _details(finding, known) if text),
        )
        for finding in summary.findings
        if finding.violation
    ]


def _details(finding: Finding, known: Mapping[str, CaseResult]) -> list[tuple[str, str]]:
    pairs = [
        ("place", finding.place),
        ("what", what_of(finding)),
        ("charged to", finding.charged_to),
    ]
    case = known.get(finding.smallest)
    if case is not None:
        grade = GRADES[case.grade] if case.grade is not None else ""
        pairs += [("left", some(case.left, 12)), ("grade", grade), ("caller got", case.exception)]
    return [*pairs, ("steady", finding.steady), ("replay", f"faultinject replay {finding.smallest}")]


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
