"""``faultinject diff``: two reports, or two installed versions of a target."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from faultinject.cli._options import make_options, takes_sweep_options
from faultinject.errors import TargetError, UsageError

if TYPE_CHECKING:
    from faultinject.reports import Report

_PYTHON: Final = re.compile(r"python([0-9]+(\.[0-9]+)?t?)?")
_PATIENCE = 30.0
"""Seconds in which a sweep that is told to end gives back what it has."""


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
    from faultinject.gate import diff_reports, encode_difference, print_difference
    from faultinject.reports import check_writable, make_console, write_whole

    check_writable(json_file)
    found = diff_reports(*(_report_of(where, target, given) for where in (a, b)))
    if json_file is not None:
        write_whole(json_file, encode_difference(found), "difference")
    print_difference(make_console(), found)
    raise typer.Exit(1 if found and not exit_zero else 0)


def _report_of(where: str, target: str, given: dict[str, Any]) -> Report:
    from faultinject.reports import read_report

    path = Path(where)
    python = _interpreter(path)
    if python is None:
        return read_report(path)
    if not target:
        raise UsageError(f"{where} is a virtual environment: say with --target what to sweep in it")
    make_options(target, **given)  # Wrong options are found here, before anything runs.
    with tempfile.TemporaryDirectory(prefix="faultinject-diff-") as folder:
        report = Path(folder) / "report.json"
        _sweep_with(python, target, report, given)
        return read_report(report)


def _interpreter(path: Path) -> Path | None:
    """The interpreter that a virtual environment or a path stands for; None for a report.

    Raises:
        UsageError: a folder that is no environment.
    """
    if path.is_dir():
        python = path / "bin" / "python"
        if not os.access(python, os.X_OK):
            raise UsageError(f"{path} is no virtual environment: there is no {python}")
        return python
    # By its name alone: a report may come from anywhere, and with any mode.
    return path if path.is_file() and _PYTHON.fullmatch(path.name) else None


def _sweep_with(python: Path, target: str, report: Path, given: dict[str, Any]) -> None:
    from faultinject.cli._tables import words_of

    run = [os.path.abspath(python), "-m", "faultinject"]
    there = subprocess.run(
        [run[0], "-c", "import faultinject; print(faultinject.__version__)"],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if there.returncode or not there.stdout.strip():
        raise UsageError(
            f"{python} has no faultinject: install it there, `{python} -m pip install faultinject`"
        )
    print(f"sweeping {target} with {python}", file=sys.stderr)
    words = ["sweep", target, "--json", str(report), "--quiet", "--exit-zero", *words_of(given)]
    with open(report.with_suffix(".txt"), "w+") as said:
        process = subprocess.Popen(
            [*run, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, text=True
        )
        try:
            status = process.wait()
        except BaseException:
            _end(process)
            raise
        if status:
            said.seek(0)
            lines = said.read().strip().splitlines() or [f"it ended with status {status}"]
            text = lines[-1].removeprefix("faultinject: ")
            raise TargetError(f"with {python}: {text}", original="\n".join(lines[:-1]))


def _end(process: subprocess.Popen[str]) -> None:
    """Let an interrupted sweep give back what it has; it may have had the signal already."""
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
