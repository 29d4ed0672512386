"""Which lines run while a fault is on its way: what a clean-up really did."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Collection, Sequence
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
        if _is_named(name, self._modules):
            return True
        return ANY in self._modules and _is_of_project(name, frame.f_code.co_filename)

    def line(self, file: str, number: int) -> None:
        """A line is about to be executed."""
        if self.on:
            self._found.setdefault(file, set()).add(number)

    def found(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """(file, numbers) of the lines so far."""
        return tuple((file, tuple(sorted(numbers))) for file, numbers in sorted(self._found.items()))


def loaded_modules(modules: Sequence[str], met: Collection[str]) -> tuple[tuple[str, str], ...]:
    """(name, file) of the modules of this process that the globs fit; a module of no file has ``""``.

    Args:
        modules: globs, as of `FaultLines`.
        met: names of the modules that the target has to do with: of all others of the project, which a bare
            ``*`` would fit too, nothing is expected.
    """
    found: list[tuple[str, str]] = []
    for name, module in sorted(sys.modules.items()):
        named = _is_named(name, modules)
        if named or (ANY in modules and name in met):
            file = ""
            with contextlib.suppress(Exception):
                # Past the class of a module that is imported only when it is looked at.
                file = str(object.__getattribute__(module, "__dict__").get("__file__") or "")
            if named or _is_of_project(name, file):
                found.append((name, file))
    return tuple(found)


def _is_named(name: str, modules: Sequence[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in modules if glob != ANY)


def _is_of_project(name: str, file: str) -> bool:
    return not (
        is_stdlib(name) or "-packages/" in file or file.startswith("<") or name.startswith("faultinject.")
    )
