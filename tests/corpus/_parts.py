"""What the specimens are made of: calls that can fail, names that never meet, a thing to own."""

from __future__ import annotations

import itertools
import os

_NUMBERS = itertools.count(1)


def configure() -> int:
    """A step that acquires nothing: where a fault finds out what a constructor forgot."""
    return 1


def measure() -> int:
    """Another such step, to tell two places apart."""
    return 2


def unique(prefix: str) -> str:
    """A name that no other process, and no other construction in this one, uses."""
    return f"faultinject-{prefix}-{os.getpid()}-{next(_NUMBERS)}"


def source() -> str:
    """A file that exists and may be opened for reading."""
    return __file__


class Channel:
    """Owns the two descriptors of a pipe; nothing but `close` gives them back."""

    def __init__(self) -> None:
        self._ends: tuple[int, ...] = os.pipe()

    def close(self) -> None:
        """Close both ends. A second call does nothing."""
        ends, self._ends = self._ends, ()
        for end in ends:
            os.close(end)
