"""A version of a target: a report of it, or the virtual environment in which it is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from faultinject.cli._options import make_options
from faultinject.errors import TargetError, UsageError

if TYPE_CHECKING:
    from faultinject.reports import Report

_PYTHON: Final = re.compile(r"python([0-9]+(\.[0-9]+)?t?)?")
_PATIENCE = 30.0
"""Seconds in which a sweep that is told to end gives back what it has."""


def report_of(where: str, target: str, given: Mapping[str, Any]) -> Report:
    """The report of one version of a target: read, or of a sweep in the environment that has it.

    Args:
        where: a JSON report, or a virtual environment (or its python).
        target: what to sweep in an environment.
        given: arguments of `make_options`, for that sweep.

    Raises:
        UsageError: it is neither, or an option is wrong.
        TargetError: the sweep could not be made.
    """
    from faultinject.reports import read_report

    path = Path(where)
    python = _interpreter(path)
    if python is None:
        return read_report(path)
    if not target:
        raise UsageError(f"{where} is a virtual environment: say with --target what to sweep in it")
    make_options(target, **given)  # Wrong options are found here, before anything runs.
    with tempfile.TemporaryDirectory(prefix="faultinject-version-") as folder:
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


def _sweep_with(python: Path, target: str, report: Path, given: Mapping[str, Any]) -> None:
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
