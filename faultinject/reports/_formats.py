"""The one place that knows which formats there are: ``--report FORMAT:FILE``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from faultinject._near import near
from faultinject.errors import UsageError
from faultinject.facts import CaseResult, Recording, Summary
from faultinject.reports._files import check_writable, write_whole
from faultinject.reports._github import render_github
from faultinject.reports._html import render_html
from faultinject.reports._json import JsonReporter
from faultinject.reports._junit import render_junit
from faultinject.reports._kept import Kept
from faultinject.reports._markdown import render_markdown
from faultinject.reports._protocol import Environment, Reporter
from faultinject.reports._sarif import render_sarif
from faultinject.reports._suite import Suite

JSON: Final = "json"
"""Written case by case, and so by a reporter of its own."""

RENDERED: Final[dict[str, Callable[[Sequence[Suite]], str]]] = {
    "junit": render_junit,
    "sarif": render_sarif,
    "markdown": render_markdown,
    "github": render_github,
    "html": render_html,
}
"""Formats that are made of whole sweeps."""

FORMATS: Final = (JSON, *RENDERED)


class Wanted(NamedTuple):
    """A report that was asked for; `path` is None for standard output."""

    format: str
    path: Path | None


def parse_report(text: str) -> Wanted:
    """What ``FORMAT:FILE`` asks for; ``FORMAT`` alone, or ``-`` for the file, is standard output.

    Raises:
        UsageError: there is no such format, or a JSON report without a file.
    """
    name, _, path = text.partition(":")
    if name not in FORMATS:
        raise UsageError(
            f"unknown report {text!r}{near(name, FORMATS)}: write it as FORMAT:FILE, "
            f"with one of {', '.join(FORMATS)}"
        )
    where = None if path in ("", "-") else Path(path)
    if name == JSON and where is None:
        raise UsageError(f"report {text!r} has no file: write it as json:FILE")
    return Wanted(name, where)


def reporter_of(wanted: Wanted, *, earlier: Sequence[CaseResult] = ()) -> Reporter:
    """The reporter that makes a report of one sweep.

    Args:
        wanted: from `parse_report`.
        earlier: cases of a resumed sweep.
    """
    if wanted.format == JSON:
        assert wanted.path is not None
        return JsonReporter(wanted.path, earlier=earlier)
    return WholeReporter(wanted, earlier=earlier)


def write_suites(wanted: Wanted, suites: Sequence[Suite]) -> None:
    """Write a report of several sweeps.

    Raises:
        UsageError: the file cannot be written.
    """
    text = RENDERED[wanted.format](suites)
    write_whole(wanted.path, text.encode("utf-8", "backslashreplace"), f"{wanted.format} report")


class WholeReporter(Kept):
    """Makes one of the `RENDERED` formats of a sweep, when it is over or was interrupted."""

    def __init__(self, wanted: Wanted, *, earlier: Sequence[CaseResult] = ()) -> None:
        super().__init__(earlier=earlier)
        self._wanted = wanted

    def start(self, recording: Recording, environment: Environment, total: int) -> None:
        """See that the file can be written.

        Raises:
            UsageError: it cannot.
        """
        check_writable(self._wanted.path)
        super().start(recording, environment, total)

    def finish(self, summary: Summary) -> None:
        """Write it."""
        super().finish(summary)
        if self.recording is not None and self.environment is not None:
            results = tuple(self.results.values())
            write_suites(self._wanted, [Suite(self.recording, self.environment, results, summary)])
