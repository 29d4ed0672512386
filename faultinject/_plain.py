"""Text that is safe to show on one line of a terminal."""

from __future__ import annotations


def plain(text: str) -> str:
    """Text with everything that could move the cursor or has no encoding written as escapes."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return shown.encode("utf-8", "backslashreplace").decode("utf-8")
