"""Which lines run while a fault is on its way: what a clean-up really did."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from types import CodeType, FrameType


class FaultLines:
    """Notes the lines of some modules, from the moment at which it is put `on`.

    Args:
        modules: globs of their names.
    """

    def __init__(self, modules: Sequence[str]) -> None:
        self.on = False
        self._modules = tuple(modules)
        self._found: dict[str, set[int]] = {}
        self._known: dict[CodeType, bool] = {}

    def wants(self, frame: FrameType) -> bool:
        """Whether what this frame runs belongs to one of the modules."""
        known = self._known.get(frame.f_code)
        if known is None:
            name = str(frame.f_globals.get("__name__", ""))
            known = self._known[frame.f_code] = any(fnmatchcase(name, glob) for glob in self._modules)
        return known

    def line(self, file: str, number: int) -> None:
        """A line is about to be executed."""
        if self.on:
            self._found.setdefault(file, set()).add(number)

    def found(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """(file, numbers) of the lines so far."""
        return tuple((file, tuple(sorted(numbers))) for file, numbers in sorted(self._found.items()))
