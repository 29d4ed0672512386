"""``faultinject diff``: two reports, or two installed versions of a target."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from faultinject.cli._options import takes_sweep_options


@takes_sweep_options()
def diff(
    a: Annotated[
        str, typer.Argument(metavar="A", help="A JSON report, or a virtual environment (or its python).")
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="What it is compared with; likewise.")],
    *,
    target: Annotated[str, typer.Option("--target", help="What to sweep in a virtual environment.")] = "",
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the difference here too.")] = None,
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit 0 although they differ.")] = False,
    **given: Any,
) -> None:
    """Say what differs between A and B: fault points that appeared, vanished or moved, ownership, verdicts.

    Each of A and B is one of:
      a report of `faultinject sweep --json`
      a virtual environment with a version of the target, and with faultinject:
      TARGET is swept in it, with the options given here

    Exit status:
      0  they do not differ
      1  they do
      2  something is wrong with the request, a report or a target

    Examples:

      faultinject diff before.json after.json

      faultinject diff venv-1.0 venv-2.0 --target acme.client:Client --release close
    """
    from faultinject.cli._versions import report_of
    from faultinject.gate import diff_reports, encode_difference, print_difference
    from faultinject.reports import check_writable, make_console, write_whole

    check_writable(json_file)
    found = diff_reports(*(report_of(where, target, given) for where in (a, b)))
    if json_file is not None:
        write_whole(json_file, encode_difference(found), "difference")
    print_difference(make_console(), found)
    raise typer.Exit(1 if found and not exit_zero else 0)
