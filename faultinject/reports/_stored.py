"""A report in a file, taken up again: to be shown, or made into another format."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from faultinject._reading import place
from faultinject.errors import UsageError
from faultinject.reports._comparison import COMPARISON_SCHEMA, Comparison
from faultinject.reports._findings import summarise
from faultinject.reports._json import SCHEMA, Report, checked, read_document
from faultinject.reports._suite import Suite
from faultinject.reports._terminal import TerminalReporter


def read_suites(path: Path) -> list[Suite]:
    """The sweep of a report, or both sweeps of a comparison.

    Raises:
        UsageError: as of `read_report`; or the comparison has no sweep.
    """
    types: dict[str, type[Report | Comparison]] = {SCHEMA: Report, COMPARISON_SCHEMA: Comparison}
    document = read_document(path, types)
    reports = [document] if isinstance(document, Report) else [document.a, document.b]
    suites = [_suite(checked(report, path)) for report in reports if report is not None]
    if not suites:
        raise UsageError(f"{place(path)} compares nothing: neither of its sweeps had begun")
    return suites


def _suite(report: Report) -> Suite:
    recording = report.full_recording()
    # A sweep that was killed has no summary.
    summary = report.summary or summarise(report.cases, recording, complete=False)
    return Suite(recording, report.environment, report.cases, summary)


def print_suite(
    console: Console, suite: Suite, *, quiet: bool = False, verbose: bool = False, all_nested: bool = False
) -> None:
    """Print what the sweep printed when it was over."""
    screen = TerminalReporter(
        console, quiet=quiet, verbose=verbose, all_nested=all_nested, earlier=suite.results
    )
    screen.know(suite.recording, suite.environment, len(suite.results))
    screen.finish(suite.summary)
