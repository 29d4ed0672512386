"""The lifecycle matrix on a screen: a row a step, a column for each way to fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from faultinject.facts import CaseResult, Recording, Step, Verdict
from faultinject.matrix import NESTED, Column, by_release, columns_of, label_order, tabulate
from faultinject.points import short_name
from faultinject.reports._names import name_text
from faultinject.reports._screen import LEAST_WIDTH, plain
from faultinject.reports._tables import names_owned_at, new_table
from faultinject.reports._words import SHORT

_GAP: Final = 2
_WIDEST_CELL: Final = 10
_STYLES: Final = {
    "clean": "green",
    "handled": "cyan",
    "not-reached": "yellow",
    "unstable": "magenta",
}
LEGEND: Final = (
    "before: the fault came in place of the call. after: it came out of the call, its work done.\n"
    "(word): charged to a frame beneath the target."
)
TREE_LEGEND: Final = (
    "after: the process had come to the milestone, and waited there until the fault was done."
)
SECOND_LEGEND: Final = (
    "A fault in the constructor, and one in this release: in its place (before), out of it, its work done\n"
    "(after), or it never ends (hang)."
)


def render_matrix(recording: Recording, results: Sequence[CaseResult], width: int) -> RenderableType:
    """The matrix, in as many blocks of columns as the width asks for.

    Args:
        recording: the steps and what is owned at each.
        results: judged cases; several of one step and column are counted by verdict.
        width: columns of the screen.
    """
    cells = tabulate(results)
    columns = columns_of(results)
    steps = {step.number: step for step in recording.steps}
    numbers = sorted({*steps, *cells})
    tree = recording.level == "milestones"
    rows = [
        # Nothing is owned step by step in a tree of processes: whose milestone it is stands there.
        _Row(
            n,
            steps.get(n),
            steps[n].caller if tree and n in steps else names_owned_at(recording, n),
        )
        for n in numbers
    ]
    # Where a column has more than one case at any step, every cell is a count: one look, one meaning.
    counted = any(words.total() > 1 for row in cells.values() for words in row.values())
    blocks: list[RenderableType] = []
    for block, call_width, owned_width in _blocks(rows, columns, cells, counted, max(width, LEAST_WIDTH)):
        table = new_table()
        table.add_column("step", justify="right", width=4, no_wrap=True)
        table.add_column("line", justify="right", width=5, no_wrap=True)
        table.add_column("milestone" if tree else "call", width=call_width, overflow="fold")
        owner = "of process" if tree else "owned: must be released"
        table.add_column(owner, width=owned_width, overflow="fold")
        for column in block:
            table.add_column(
                _head(column, columns), width=_width(column, columns, cells, counted), overflow="fold"
            )
        for row in rows:
            shown = [verdict_cell(cells.get(row.number, {}).get(column), counted) for column in block]
            table.add_row(str(row.number) if row.number else "-", row.line, row.call, row.owned, *shown)
        blocks += [table, Text("")]
    return Group(*blocks, Text(TREE_LEGEND if tree else LEGEND, style="dim"))


def render_second(results: Sequence[CaseResult]) -> RenderableType | None:
    """What came of second faults: a row a release, a column for each way to fail; `None` without any."""
    table = by_release(results)
    if not table:
        return None
    labels = sorted({label for cell in table.values() for label in cell.words}, key=label_order)
    shown = new_table()
    shown.add_column("release", overflow="fold")
    for label in labels:
        phase, _, fault = label.partition(" ")
        shown.add_column(f"{phase}\n{plain(short_fault(fault))}" if fault else label, overflow="fold")
    missed = any(cell.not_called for cell in table.values())
    if missed:
        shown.add_column("not\ncalled", justify="right", overflow="fold")
    for release, cell in table.items():
        cells = [verdict_cell(cell.words.get(label), counted=True) for label in labels]
        shown.add_row(name_text(release), *cells, *([Text(f"{cell.not_called:,}" or "-")] if missed else []))
    return Group(shown, Text(""), Text(SECOND_LEGEND, style="dim"))


class _Row:
    def __init__(self, number: int, step: Step | None, owned: str) -> None:
        self.number = number
        self.line = Text(str(step.line) if step is not None and step.line else "-")
        self.call = name_text(short_name(step.callee) if step is not None else "outside any call")
        self.owned = name_text(owned)


def _blocks(
    rows: Sequence[_Row],
    columns: Sequence[Column],
    cells: Mapping[int, Mapping[Column, Counter[str]]],
    counted: bool,
    width: int,
) -> Iterator[tuple[list[Column], int, int]]:
    longest_call = max((cell_len(row.call.plain) for row in rows), default=0)
    longest_owned = max((cell_len(row.owned.plain) for row in rows), default=0)
    room = width - 4 - 5 - 3 * _GAP
    least_call = min(max(longest_call, 4), 20 if width >= 80 else 10)
    least_owned = min(max(longest_owned, 8), 22 if width >= 80 else 10)
    for_columns = room - least_call - least_owned
    rest = list(columns)
    first = True
    while rest or first:
        first = False
        block: list[Column] = []
        used = 0
        while rest:
            needed = _width(rest[0], columns, cells, counted) + _GAP
            if block and used + needed > for_columns:
                break
            block.append(rest.pop(0))
            used += needed
        spare = max(for_columns - used, 0)
        # Whoever reads a row looks for the call; the head of what is owned may take two lines.
        call_width = least_call + min(spare, max(min(longest_call, 34) - least_call, 0))
        spare -= call_width - least_call
        owned_width = least_owned + min(spare, max(longest_owned, 23) - least_owned)
        yield block, call_width, owned_width


def _width(
    column: Column,
    columns: Sequence[Column],
    cells: Mapping[int, Mapping[Column, Counter[str]]],
    counted: bool,
) -> int:
    longest = max((len(line) for line in _head(column, columns).plain.split("\n")), default=1)
    cell_widths = [
        len(line)
        for row in cells.values()
        if column in row
        for line in verdict_cell(row[column], counted).plain.split("\n")
    ]
    # A head may fold; a verdict may not.
    return max(min(longest, _WIDEST_CELL), *cell_widths, 1)


def _head(column: Column, columns: Sequence[Column]) -> Text:
    name = short_fault(column.fault)
    if sum(short_fault(fault) == name for fault in {c.fault for c in columns}) > 1:
        name = column.fault
    often = "" if column.times == 1 else "\nalways" if column.times == 0 else f"\nx{column.times}"
    return Text(f"{column.phase}\n{plain(name)}{often}")


def short_fault(fault: str) -> str:
    """``Runtime``, ``Keyboard``, ``ENOSPC``: what tells a fault from others in a narrow head."""
    family, _, detail = fault.partition(":")
    if detail:
        return detail
    name = family.rpartition(".")[2]
    for ending in ("Error", "Interrupt", "Exception", "Exit"):
        if name.endswith(ending) and name != ending:
            return name.removesuffix(ending)
    return name


def verdict_cell(words: Counter[str] | None, counted: bool) -> Text:
    """What a cell of a matrix shows: each word on a line of its own, the worst first; a dash for no case.

    Args:
        counted: write how often each came.
    """
    if not words:
        return Text("-", style="dim")
    lines = [
        Text(shown, style=_style(word))
        for word, shown in zip(sorted(words, key=severity), word_lines(words, counted), strict=True)
    ]
    return Text("\n").join(lines)


def severity(word: str) -> tuple[int, str]:
    """Sorts the words of a cell, the worst first."""
    verdict = word.removeprefix(NESTED)
    if verdict == "clean":
        return 3, word
    if verdict in _STYLES:
        return 2, word
    return (1 if verdict != word else 0), word


def word_lines(words: Counter[str], counted: bool) -> list[str]:
    """The words of a cell in short, the worst first; those charged beneath the target in brackets.

    Args:
        counted: write how often each came.
    """
    lines: list[str] = []
    for word in sorted(words, key=severity):
        verdict = word.removeprefix(NESTED)
        shown = f"({_short(verdict)})" if verdict != word else _short(verdict)
        lines.append(f"{words[word]:,} {shown}" if counted else shown)
    return lines


def _style(word: str) -> str:
    verdict = word.removeprefix(NESTED)
    return _STYLES.get(verdict, "yellow" if verdict != word else "bold red")


def _short(verdict: str) -> str:
    known: dict[str, str] = {name: word for name, word in SHORT.items()}
    return known.get(verdict, verdict)


def verdict_counts(verdicts: Mapping[Verdict, int]) -> str:
    """``leak 36, clean 40``: worst first, as in a cell."""
    names = sorted(verdicts, key=severity)
    return ", ".join(f"{name} {verdicts[name]:,}" for name in names if verdicts[name])
