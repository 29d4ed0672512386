"""The gate on the screen: what changed, and a last sentence."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from faultinject.gate._compare import CHANGED, FAILED
from faultinject.gate._ruling import ACCEPT, near_ends, ruling_of
from faultinject.gate._run import GateSweep, Ran
from faultinject.points import point_key
from faultinject.reports import Change, Kept, ProgressBar, counted, safe

_WORDS = {"new": "new violation", "fixed": "fixed", "expired": "expired", "changed": "changed"}
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
    """What changed in one sweep; of a sweep with a budget also how much of it ran."""
    ruling = ruling_of(ran)
    lines: list[Text] = [part for change in ruling.changes for part in _change(change)]
    lines += [safe(f"  soon: {text}", "yellow") for text in near_ends(ran.outcome, today)]
    if lines or ran.seed is not None:
        _say(console, safe(f"{ran.sweep.name}{_ran(ran)}", "bold"))
    for line in lines:
        _say(console, line)


def print_end(console: Console, all_ran: Sequence[Ran]) -> None:
    """The last sentence: why the gate fails, or that nothing is new."""
    status = status_of(all_ran)
    kinds = [change.kind for ran in all_ran for change in ruling_of(ran).changes]
    cases = sum(len(ran.report.cases) for ran in all_ran)
    where = f"in {counted(cases, 'case')} of {counted(len(all_ran), 'sweep')}"
    excused = sum(len(ran.outcome.excused) for ran in all_ran)
    known = f" ({counted(excused, 'case')} suppressed)" if excused else ""
    if status == FAILED:
        parts = [
            f"{counted(kinds.count('new'), 'new violation')}" if "new" in kinds else "",
            f"{kinds.count('fixed')} fixed and still listed" if "fixed" in kinds else "",
            f"{kinds.count('expired')} expired" if "expired" in kinds else "",
        ]
        _say(console, safe(f"The gate fails: {', '.join(filter(None, parts))} {where}{known}.", "bold red"))
    elif status == CHANGED:
        text = f"No new violation {where}{known}, but the target changed: {ACCEPT}."
        _say(console, safe(text, "bold yellow"))
    else:
        _say(console, safe(f"The gate passes: nothing new {where}{known}.", "bold green"))


def status_of(all_ran: Sequence[Ran]) -> int:
    """1 where any sweep fails, 3 where any changed, otherwise 0."""
    statuses = {ran.outcome.status for ran in all_ran}
    return FAILED if FAILED in statuses else CHANGED if CHANGED in statuses else 0


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
