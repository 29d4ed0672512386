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
from faultinject.reports._files import check_writable, write_whole
from faultinject.reports._findings import Root, findings, roots_of, summarise
from faultinject.reports._formats import FORMATS, Wanted, parse_report, reporter_of, write_suites
from faultinject.reports._gated import gate_sentence
from faultinject.reports._json import (
    SCHEMA,
    JsonReporter,
    Report,
    check_resumable,
    encode,
    finished_ids,
    read_report,
)
from faultinject.reports._kept import Kept
from faultinject.reports._lifecycle import render_lifecycle
from faultinject.reports._many import Reporters
from faultinject.reports._places import Place, place_of, repository_root, seen_from
from faultinject.reports._progress import ProgressBar
from faultinject.reports._protocol import Environment, Reporter, describe_environment
from faultinject.reports._screen import make_console, safe
from faultinject.reports._stored import print_suite, read_suites
from faultinject.reports._suite import Change, Ruling, Suite
from faultinject.reports._tables import render_discovery, render_timeline
from faultinject.reports._terminal import TerminalReporter
from faultinject.reports._words import amounts_of, counted, some

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "COMPARISON_SCHEMA",
    "FORMATS",
    "SCHEMA",
    "Change",
    "Comparison",
    "Environment",
    "JsonReporter",
    "Kept",
    "Place",
    "ProgressBar",
    "Report",
    "Reporter",
    "Reporters",
    "Root",
    "Ruling",
    "Side",
    "Suite",
    "TerminalReporter",
    "Wanted",
    "amounts_of",
    "check_resumable",
    "check_writable",
    "counted",
    "describe_environment",
    "encode",
    "findings",
    "finished_ids",
    "gate_sentence",
    "make_console",
    "parse_report",
    "place_of",
    "print_comparison",
    "print_suite",
    "read_report",
    "read_suites",
    "render_discovery",
    "render_lifecycle",
    "render_timeline",
    "reporter_of",
    "reporters_for",
    "repository_root",
    "roots_of",
    "safe",
    "seen_from",
    "some",
    "summarise",
    "write_comparison",
    "write_suites",
    "write_whole",
]


def reporters_for(
    *,
    json_path: Path | None = None,
    wanted: Sequence[Wanted] = (),
    earlier: Sequence[CaseResult] = (),
    console: Console | None = None,
    terminal: bool = True,
    quiet: bool = False,
    verbose: bool = False,
    all_nested: bool = False,
) -> Reporters:
    """The reporters that a command line asks for, as one.

    The files come first: a broken pipe behind the terminal's output must not cost them a case.

    Args:
        json_path: where the JSON report goes, if anywhere.
        wanted: the other reports that were asked for, from `parse_report`.
        earlier: cases of a resumed sweep. They are in the file before the first new one is, and count
            on the screen too: do not pass them to `Reporter.case` again.
        console: where to print; standard output by default.
        terminal: whether to print at all.
        quiet: print the last sentence only.
        verbose: print each case as it ends, too.
        all_nested: list every finding beneath the target instead of the first ten.
    """
    chosen: list[Reporter] = []
    if json_path is not None:
        chosen.append(JsonReporter(json_path, earlier=earlier))
    chosen += [reporter_of(one, earlier=earlier) for one in wanted]
    if terminal:
        screen = console if console is not None else make_console()
        chosen.append(
            TerminalReporter(
                screen, quiet=quiet, verbose=verbose, all_nested=all_nested, earlier=earlier,
                json_path=json_path,
            )
        )  # fmt: skip
    return Reporters(chosen)
