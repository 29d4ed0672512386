"""``faultinject report``: a report that was kept, shown again or made into another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from faultinject.cli import _completion
from faultinject.cli._options import NONE, QuietOption, VerboseOption, check_loudness
from faultinject.errors import UsageError


def report(
    file: Annotated[
        Path, typer.Argument(metavar="REPORT", help="A JSON report of a sweep, or of a comparison.")
    ],
    formats: Annotated[
        list[str],
        typer.Argument(
            metavar="[FORMAT:FILE]...",
            autocompletion=_completion.formats,
            help="What to make of it: html, junit, sarif, markdown or github. Without any, it is shown here.",
        ),
    ] = NONE,
    all_nested: Annotated[
        bool, typer.Option("--all-nested", help="List every finding beneath the target.")
    ] = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Show a report that was kept, or make a page or another format of it. Nothing is run.

    Exit status: 0 it was shown or made, 2 something is wrong with the report or the request.

    Examples:

      faultinject report report.json

      faultinject report report.json html:report.html markdown:report.md
    """
    from faultinject.reports import make_console, parse_report, print_suite, read_suites, write_suites

    check_loudness(quiet=quiet, verbose=verbose)
    wanted = [parse_report(text) for text in formats]
    for one in wanted:
        if one.format == "json":
            raise UsageError("report 'json': it is JSON already; copy the file")
    suites = read_suites(file)
    for one in wanted:
        write_suites(one, suites)
        if one.path is not None and not quiet:
            typer.echo(f"wrote {one.path}")
    if not wanted:
        console = make_console()
        for suite in suites:
            print_suite(console, suite, quiet=quiet, verbose=verbose, all_nested=all_nested)
