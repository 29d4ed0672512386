"""The console, and text that is safe to put on it."""

from __future__ import annotations

import io
import os
import sys
from typing import IO, Final

from rich.console import Console, RenderableType
from rich.text import Text

from faultinject._plain import plain as plain

PIPED_WIDTH: Final = 100
"""Columns where the output is no terminal."""
LEAST_WIDTH: Final = 40


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # rich would exit the process here, and point its standard output at /dev/null.
        raise


def make_console(
    file: IO[str] | None = None, *, width: int | None = None, color: bool | None = None
) -> Console:
    """A console that takes no markup, and finds no highlights in names.

    Colour follows the terminal and ``NO_COLOR`` (https://no-color.org). A stream that cannot encode a
    character gets its escape instead of an error.

    Args:
        file: standard output by default.
        width: columns; by default the terminal's, or ``COLUMNS``, or 100 where the output is piped.
        color: force colour on or off.
    """
    out = sys.stdout if file is None else file
    if isinstance(out, io.TextIOWrapper) and out.errors == "strict":
        out.reconfigure(errors="backslashreplace")
    if width is None and not out.isatty():
        columns = os.environ.get("COLUMNS", "")
        width = int(columns) if columns.isdecimal() and int(columns) > 0 else PIPED_WIDTH
    return _Console(
        file=out,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        force_terminal=color,
        no_color=None if color is None else not color,
    )


def safe(text: str, style: str = "") -> Text:
    """A rich text of `plain` text: brackets in it are brackets."""
    return Text(plain(text), style=style)


def to_text(*parts: RenderableType, width: int = PIPED_WIDTH) -> str:
    """What a pipe of that width would get, without trailing blanks."""
    console = make_console(io.StringIO(), width=width, color=False)
    for part in parts:
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"
