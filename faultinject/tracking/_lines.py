"""Which lines run while a fault is on its way: what a clean-up really did."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from types import CodeType, FrameType

from faultinject.tracking._names import is_stdlib

ANY = "*"
"""In place of a glob: every module of the project."""


class FaultLines:
    """Notes the lines of some modules, from the moment at which it is put `on`.

    Args:
        modules: globs of their names. A bare ``*`` is every module of the project: of neither the standard
            library nor an installed package.
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
            known = self._known[frame.f_code] = self._fits(frame)
        return known

    def _fits(self, frame: FrameType) -> bool:
        name = str(frame.f_globals.get("__name__", ""))
        if any(fnmatchcase(name, glob) for glob in self._modules if glob != ANY):
            return True
        file = frame.f_code.co_filename
        return ANY in self._modules and not (
            is_stdlib(name) or "-packages/" in file or file.startswith("<") or name.startswith("faultinject.")
        )

    def line(self, file: str, number: int) -> None:
        """A line is about to be executed."""
        if self.on:
            self._found.setdefault(file, set()).add(number)

    def found(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """(file, numbers) of the lines so far."""
        return tuple((file, tuple(sorted(numbers))) for file, numbers in sorted(self._found.items()))
