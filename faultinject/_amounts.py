"""Amounts as a reader writes them."""

from __future__ import annotations


def human_bytes(number: int) -> str:
    """``512 B``, ``1.5 KiB``, ``480 MiB``."""
    size, units = float(number), ["B", "KiB", "MiB", "GiB", "TiB"]
    while abs(size) >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    text = f"{size:.1f}" if size < 10 and size != int(size) else f"{size:.0f}"
    return f"{text} {units[0]}"
