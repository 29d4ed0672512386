"""How far a sweep has come: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from faultinject.reports._screen import safe
from faultinject.reports._words import clock, plural

CASES: Final = "case"
_REFRESH: Final = 0.1
_SELDOM: Final = 30.0
_OFTEN: Final = 2.0


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.1f}/s" if task.speed else "", style="dim")


class ProgressBar:
    """One bar a stage.

    It is refreshed by the calls themselves: a thread of its own would be in every fork of this process,
    holding the console's lock. Nor are the standard streams replaced, which a forked target would inherit.
    """

    def __init__(self, console: Console, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._shown = 0.0
        self._tasks: dict[str, TaskID] = {}
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            _Rate(),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._progress.start()

    def update(self, stage: str, done: int, total: int) -> None:
        """A stage has come to `done` of `total`."""
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(plural(stage), total=total)
        self._progress.update(self._tasks[stage], completed=done, total=total)
        now = self._now()
        if done >= total or now - self._shown >= _REFRESH:
            self._shown = now
            self._progress.refresh()

    def close(self) -> None:
        """Draw it a last time and give the screen back."""
        self._progress.stop()


class ProgressLines:
    """A line at each tenth of a stage, and at least every half minute; none for what is over at once."""

    def __init__(self, console: Console, now: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._now = now
        self._last = now()
        self._began: dict[str, tuple[float, int]] = {}
        self._tenths: dict[str, int] = {}

    def update(self, stage: str, done: int, total: int) -> None:
        """A stage has come to `done` of `total`."""
        now = self._now()
        began, at = self._began.setdefault(stage, (now, max(done - 1, 0)))
        tenth = done * 10 // total if total else 10
        quiet = now - self._last
        if quiet < _SELDOM and (quiet < _OFTEN or tenth <= self._tenths.get(stage, 0)):
            return
        self._tenths[stage] = tenth
        self._last = now
        rate = (done - at) / (now - began) if now > began else 0.0
        left = f", {rate:.1f} a second, {clock(max(total - done, 0) / rate)} left" if rate else ""
        self._console.print(safe(f"{done:,} of {total:,} {plural(stage)}{left}"), soft_wrap=True)
        self._console.file.flush()

    def close(self) -> None:
        """Nothing to give back."""
