"""Reports that are written as a whole, when all is known."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from faultinject._reading import place, reason
from faultinject._writing import replace_file, try_replacing
from faultinject.errors import UsageError

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""Variable with the file that GitHub shows beneath a job; several commands of one step write to it."""


def write_whole(path: Path | None, data: bytes, what: str = "report") -> None:
    """Write a file in one step, so that it is there whole or as it was.

    What is no plain file (``/dev/stdout``), and the step summary of GitHub, is appended to.

    Args:
        path: None for standard output.
        data: all of it.
        what: the word for it in an error.

    Raises:
        UsageError: the file cannot be written.
    """
    if path is None:
        sys.stdout.write(data.decode("utf-8"))
        sys.stdout.flush()
        return
    try:
        if _is_appended_to(path):
            with open(path, "ab") as file:
                file.write(data)
            return
        replace_file(path, data)
    except OSError as error:
        raise UsageError(f"cannot write the {what} {place(path)}: {reason(error)}") from error


def check_writable(path: Path | None) -> None:
    """See, before the first case, that a report can be written when the last one has ended.

    Raises:
        UsageError: it cannot.
    """
    if path is None:
        return
    try:
        if _is_appended_to(path):
            with open(path, "ab"):
                pass
        else:
            try_replacing(path)
    except OSError as error:
        raise UsageError(f"cannot write the report {place(path)}: {reason(error)}") from error


def _is_appended_to(path: Path) -> bool:
    return (path.exists() and not path.is_file()) or os.environ.get(STEP_SUMMARY) == str(path)
