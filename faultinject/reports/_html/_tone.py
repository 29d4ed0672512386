"""How bad a word of the matrix is: what a colour, and never a colour alone, says of a cell."""

from __future__ import annotations

from collections import Counter
from typing import Final

from faultinject.matrix import NESTED

_APART: Final = {"clean": "clean", "handled": "handled", "not-reached": "missed", "unstable": "unsteady"}

TONES: Final = ("bad", "excused", "unsteady", "missed", "nested", "handled", "clean")
"""Worst first; ``excused`` is what a gate's baseline suppresses."""


def tone_of(word: str) -> str:
    """One of `TONES` for a word as `faultinject.matrix.word_of` gives it."""
    if word.startswith(NESTED):
        return "nested"
    return _APART.get(word, "bad")


def heat_of(words: Counter[str], excused: Counter[str]) -> tuple[str, int]:
    """The worst tone of a cell, and how much of the cell has it: 1 for up to a quarter of its cases, to 4.

    Args:
        words: how often each came.
        excused: how often each came in a case that is suppressed.
    """
    tones: Counter[str] = Counter()
    for word, count in words.items():
        tones["excused"] += excused[word]
        tones[tone_of(word)] += count - excused[word]
    worst = min(+tones, key=TONES.index)
    return worst, -(-4 * tones[worst] // max(words.total(), 1)) or 1
