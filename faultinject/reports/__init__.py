"""Turns judged cases into something read or stored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from faultinject.facts import CaseResult
from faultinject.reports._comparison import (
    COMPARISON_SCHEMA,
    Comparison,
    Side,
    print_comparison,
    write_comparison,
)
from faultinject.reports._findings import findings, summarise
from faultinject.reports._json import SCHEMA, JsonReporter, Report, check_resumable, finished_ids, read_report
from faultinject.reports._many import Reporters
from faultinject.reports._protocol import Environment, Reporter, describe_environment
from faultinject.reports._screen import make_console
from faultinject.reports._tables import render_discovery, render_timeline
from faultinject.reports._terminal import TerminalReporter
from faultinject.reports._words import amounts_of

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "COMPARISON_SCHEMA",
    "SCHEMA",
    "Comparison",
    "Environment",
    "JsonReporter",
    "Report",
    "Reporter",
    "Reporters",
    "Side",
    "TerminalReporter",
    "amounts_of",
    "check_resumable",
    "describe_environment",
    "findings",
    "finished_ids",
    "make_console",
    "print_comparison",
    "read_report",
    "render_discovery",
    "render_timeline",
    "reporters_for",
    "summarise",
    "write_comparison",
]


def reporters_for(
    *,
    json_path: Path | None = None,
    earlier: Sequence[CaseResult] = (),
    console: Console | None = None,
    terminal: bool = True,
    quiet: bool = False,
    all_nested: bool = False,
) -> Reporters:
    """The reporters that a command line asks for, as one.

    The file comes first: a broken pipe behind the terminal's output must not cost it a case.

    Args:
        json_path: where the JSON report goes, if anywhere.
        earlier: cases of a resumed sweep. They are in the file before the first new one is, and count
            on the screen too: do not pass them to `Reporter.case` again.
        console: where to print; standard output by default.
        terminal: whether to print at all.
        quiet: print the last sentence only.
        all_nested: list every finding beneath the target instead of the first ten.
    """
    chosen: list[Reporter] = []
    if json_path is not None:
        chosen.append(JsonReporter(json_path, earlier=earlier))
    if terminal:
        screen = console if console is not None else make_console()
        chosen.append(
            TerminalReporter(screen, quiet=quiet, all_nested=all_nested, earlier=earlier, json_path=json_path)
        )
    return Reporters(chosen)
