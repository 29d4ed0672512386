"""The gate on the screen: what changed, and a last sentence."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from faultinject.gate._compare import BROKEN, CHANGED, FAILED, PASSED
from faultinject.gate._ruling import near_ends, ruling_of, suite_of
from faultinject.gate._run import Broken, GateSweep, Made, Ran
from faultinject.points import point_key
from faultinject.reports import Change, Kept, ProgressBar, counted, gate_sentence, safe

_WORDS = {"new": "new violation", "fixed": "fixed", "expired": "expired", "changed": "changed"}
_MOODS = {PASSED: "bold green", FAILED: "bold red", BROKEN: "bold red", CHANGED: "bold yellow"}
_STYLES = {"new": "bold red", "fixed": "red", "expired": "red", "changed": "yellow"}


class Watch(Kept):
    """Keeps a sweep; on a terminal a bar shows how far it has come."""

    def __init__(self, console: Console, sweep: GateSweep) -> None:
        super().__init__()
        self._console = console
        self._name = sweep.name
        self._bar: ProgressBar | None = None

    def progress(self, stage: str, done: int, total: int) -> None:
        if self._console.is_terminal:
            self._bar = self._bar or ProgressBar(self._console)
            self._bar.update(f"{self._name}: {stage}", done, total)

    def close(self) -> None:
        bar, self._bar = self._bar, None
        if bar is not None:
            bar.close()


def print_sweep(console: Console, ran: Ran, today: datetime.date) -> None:
    """What changed in one sweep, and what it could not judge; with a budget also how much of it ran."""
    ruling = ruling_of(ran)
    lines: list[Text] = [part for change in ruling.changes for part in _change(change)]
    lines += [safe(f"  soon: {text}", "yellow") for text in near_ends(ran.outcome, today)]
    lines += [safe(f"  note: {text}") for text in ruling.notes]
    if lines or ran.seed is not None:
        _say(console, safe(f"{ran.sweep.name}{_ran(ran)}", "bold"))
    for line in lines:
        _say(console, line)


def print_end(console: Console, everything: Sequence[Made]) -> None:
    """The last sentence: why the gate fails, or that nothing is new."""
    status, sentence = gate_sentence([suite_of(made) for made in everything])
    _say(console, safe(sentence, _MOODS[status]))


def status_of(everything: Sequence[Made]) -> int:
    """2 where a sweep could not be made, otherwise 1 where any fails, 3 where any changed, or 0."""
    statuses = {BROKEN if isinstance(made, Broken) else made.outcome.status for made in everything}
    return next((status for status in (BROKEN, FAILED, CHANGED) if status in statuses), PASSED)


def _ran(ran: Ran) -> str:
    found = {point_key(case.point) for case in ran.cases.values()}
    points = {point_key(result.point) for result in ran.report.cases}
    if ran.seed is None:
        return ""
    return (
        f": {counted(len(found), 'fault point')} found, {len(points):,} ran "
        f"({len(ran.report.cases):,} of {counted(len(ran.cases), 'case')}), seed {ran.seed}"
    )


def _change(change: Change) -> list[Text]:
    where = f"{change.file}:{change.line}: " if change.file else ""
    return [
        safe(f"  {_WORDS[change.kind]}: {change.title}", _STYLES[change.kind]),
        safe(f"      {where}{change.text}"),
    ]


def _say(console: Console, text: Text) -> None:
    console.print(text, soft_wrap=not console.is_terminal)
