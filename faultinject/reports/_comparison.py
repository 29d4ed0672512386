"""Two sweeps with the same options, side by side: on the screen and in one document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Console, RenderableType
from rich.text import Text

from faultinject.facts import CaseResult, Phase, Recording, Summary
from faultinject.points import PHASES, short_name
from faultinject.reports._aligned import Row, align, beneath, callees_of, rows_of
from faultinject.reports._files import write_whole
from faultinject.reports._json import Report, encode
from faultinject.reports._kept import Kept
from faultinject.reports._matrix import LEGEND, render_second, verdict_cell, verdict_counts
from faultinject.reports._names import name_text
from faultinject.reports._protocol import Environment
from faultinject.reports._screen import safe
from faultinject.reports._tables import heading, new_table
from faultinject.reports._terminal import TerminalReporter
from faultinject.reports._words import counted

COMPARISON_SCHEMA: Final = "faultinject-comparison/1"
_CALL_WIDTH: Final = 40


class Comparison(msgspec.Struct, frozen=True):
    """Two reports of sweeps with the same options.

    Attributes:
        a, b: in the order in which the targets were given; `None` of one that was not begun.
    """

    schema: str
    a: Report | None = None
    b: Report | None = None


class Side(Kept):
    """Keeps one of the two sweeps, and shows on the screen how far it has come."""

    def __init__(self, console: Console, name: str, *, quiet: bool = False, verbose: bool = False) -> None:
        super().__init__()
        self.name = name
        self.console = console
        self._screen = TerminalReporter(console, quiet=quiet, verbose=verbose)

    def start(self, recording: Recording, environment: Environment, total: int) -> None:
        super().start(recording, environment, total)
        self._screen.start(recording, environment, total)

    def case(self, result: CaseResult) -> None:
        super().case(result)
        self._screen.case(result)

    def progress(self, stage: str, done: int, total: int) -> None:
        self._screen.progress(stage, done, total)

    def finish(self, summary: Summary) -> None:
        super().finish(summary)
        self._screen.close()

    def close(self) -> None:
        self._screen.close()


def write_comparison(path: Path, a: Side, b: Side) -> None:
    """Write both reports as one document, in one step.

    Raises:
        UsageError: the file cannot be written.
    """
    write_whole(path, encode(Comparison(COMPARISON_SCHEMA, a.report(), b.report())) + b"\n", "comparison")


def render_comparison(a: Side, b: Side) -> list[tuple[RenderableType, bool]]:
    """Both matrices, what came of each target, and a last plain sentence.

    Returns:
        Things to print, each with whether it is a sentence that is not to be cut into lines in a pipe.
    """
    parts: list[tuple[RenderableType, bool]] = [
        (heading(f"Lifecycle matrices at level {_recording(a).level}"), False),
        (safe(f"A: {_title(a)}"), True),
        (safe(f"B: {_title(b)}"), True),
        (_matrix(a, b), False),
        (Text(""), False),
        (Text(LEGEND, style="dim"), False),
    ]
    for letter, side in (("A", a), ("B", b)):
        second = render_second(list(side.results.values()))
        if second is not None:
            parts += [
                (heading(f"Second faults in {letter}: a release fails as well"), False),
                (second, False),
            ]
    parts.append((Text(""), False))
    parts += [(_violations("A", a), True), (_violations("B", b), True)]
    parts += [(_beneath("A", a), True), (_beneath("B", b), True)]
    parts.append((_last_sentence(a, b), True))
    return parts


def _matrix(a: Side, b: Side) -> RenderableType:
    common = callees_of(_recording(a)) & callees_of(_recording(b))
    pairs = align(*(rows_of(_recording(side), side.results.values(), common) for side in (a, b)))
    rows = [row for pair in pairs for row in pair if row is not None]
    phases = [phase for phase in PHASES if any(phase in row.words for row in rows)]
    many = any(words.total() > 1 for row in rows for words in row.words.values())
    table = new_table()
    for letter in "AB":
        table.add_column(f"step\n{letter}", justify="right", no_wrap=True)
    table.add_column("call", overflow="fold", max_width=_CALL_WIDTH)
    for letter in "AB":
        for phase in phases:
            table.add_column(f"{letter}\n{phase}", overflow="fold")
    for pair in pairs:
        callee = next(row.callee for row in pair if row is not None)
        call = short_name(callee) if callee else "outside any call"
        cells = [cell for row in pair for cell in _cells(row, phases, many)]
        table.add_row(*map(_step, pair), name_text(call), *cells)
    return table


def _step(row: Row | None) -> str:
    if row is None:
        return ""
    return str(row.step) if row.step else "-"


def _cells(row: Row | None, phases: Sequence[Phase], many: bool) -> list[Text]:
    if row is None:
        return [Text("")] * len(phases)
    return [verdict_cell(row.words.get(phase), many) for phase in phases]


def _violations(letter: str, side: Side) -> Text:
    summary = _summary(side)
    cases = counted(summary.cases, "case")
    what = counted(summary.violations, "violation") if summary.violations else "no violation"
    kinds = f" ({verdict_counts(summary.verdicts)})" if summary.cases else ""
    return safe(f"{letter}: {what} in {cases}{kinds}", "bold red" if summary.violations else "bold green")


def _beneath(letter: str, side: Side) -> Text:
    layers = [
        f"{short_name(name)} ({verdict_counts(verdicts)})"
        for name, verdicts in beneath(list(side.results.values())).items()
    ]
    return safe(f"beneath {letter}: {', '.join(layers) or 'nothing'}")


def _last_sentence(a: Side, b: Side) -> Text:
    one, other = _recording(a).target, _recording(b).target
    level = f"at level {_recording(b).level}"
    before, after = _summary(a).violations, _summary(b).violations
    if not before and not after:
        return safe(f"Neither {one} nor {other} has a violation {level}.", "bold green")
    has = counted(after, "violation") if after else "no violation"
    had = f"{before:,}" if before else "none"
    return safe(f"{other} has {has} {level}, {one} has {had}.", "bold red" if after else "bold green")


def _title(side: Side) -> str:
    version = side.environment.target_version if side.environment is not None else ""
    return f"{_recording(side).target} {version}".strip()


def _recording(side: Side) -> Recording:
    if side.recording is None:
        raise RuntimeError(f"the sweep of {side.name} was not begun")
    return side.recording


def _summary(side: Side) -> Summary:
    if side.summary is None:
        raise RuntimeError(f"the sweep of {side.name} has not ended")
    return side.summary


def print_comparison(console: Console, a: Side, b: Side, *, quiet: bool = False) -> None:
    """Print what `render_comparison` gives, or where it is to be quiet, the last sentence of it."""
    parts = render_comparison(a, b)
    for part, sentence in parts[-1:] if quiet else parts:
        options: dict[str, Any] = {"soft_wrap": not console.is_terminal} if sentence else {}
        console.print(part, **options)
