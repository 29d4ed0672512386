"""Names that are too long for their column: broken where a reader takes a breath, not within a word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rich.cells import cell_len
from rich.console import Console, JustifyMethod, OverflowMethod
from rich.containers import Lines
from rich.text import Text

from faultinject.reports._screen import plain

_PARTS: Final = (re.compile(r"[^.]*\.+|[^.]+"), re.compile(r"_*[^_]+_*|_+"))
"""How a word is taken apart, at dots and then at underscores; these stay at the end of a line."""


class NameText(Text):
    """A name, or several with blanks between them, in whatever width there is. It has no marks within."""

    def wrap(
        self,
        console: Console,
        width: int,
        *,
        justify: JustifyMethod | None = None,
        overflow: OverflowMethod | None = None,
        tab_size: int = 8,
        no_wrap: bool | None = None,
    ) -> Lines:
        whole = Text("\n".join(broken(self.plain, width)), self.style)
        return whole.wrap(
            console, width, justify=justify, overflow=overflow, tab_size=tab_size, no_wrap=no_wrap
        )


def name_text(text: str) -> NameText:
    """A rich text of `plain` names."""
    return NameText(plain(text))


def broken(text: str, width: int) -> list[str]:
    """Lines of the text that fit, as far as its words, parts of names and parts of parts do."""
    lines = [""]
    for piece in _pieces(text, width):
        if lines[-1] and cell_len((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def _pieces(text: str, width: int) -> Iterator[str]:
    for word in re.findall(r"\S+\s*|\s+", text):
        yield from _parts(word, width, 0)


def _parts(text: str, width: int, depth: int) -> Iterator[str]:
    if cell_len(text.rstrip()) <= width:
        yield text
    elif depth == len(_PARTS):
        yield from text
    else:
        for part in _PARTS[depth].findall(text):
            yield from _parts(part, width, depth + 1)
