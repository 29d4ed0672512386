"""A segment that belongs to the process which imported this module, and two that attach to it.

A name in ``/dev/shm`` is shared by every fork of that process: the first case that wrongly removes it
would spoil the ones that follow. So each fork finds a segment of its own, and the owner removes them.
"""

from __future__ import annotations

import atexit
import contextlib
import os

from tests.corpus._parts import configure, unique

_FOLDER = "/dev/shm"
_KEPT = 16
"""Segments of earlier forks that may still be in use; more than there are cases at one time."""


class _Somebody:
    """Owns the segment at `path`, and makes another for each fork of the process that made this."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._paths: list[str] = []
        self.path = ""
        self._provide()
        os.register_at_fork(before=self._provide)
        atexit.register(self._remove_all)

    def _provide(self) -> None:
        # A lane forks the cases, and is itself a fork of the process that imported this module.
        while len(self._paths) >= _KEPT:
            _remove(self._paths.pop(0))
        self.path = os.path.join(_FOLDER, unique("foreign"))
        with open(self.path, "wb") as segment:
            segment.truncate(4096)
        self._paths.append(self.path)

    def _remove_all(self) -> None:
        if os.getpid() == self._process:
            while self._paths:
                _remove(self._paths.pop())


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


_SOMEBODY = _Somebody()
_SOMEBODY_ELSE = _Somebody()


class RemovesForeignSegment:
    """Attaches to a segment, and removes it when a later step fails."""

    def __init__(self) -> None:
        self._path = _SOMEBODY.path
        self._fd = os.open(self._path, os.O_RDONLY)
        try:
            self.size = configure()
        except BaseException:
            os.close(self._fd)
            _remove(self._path)
            raise

    def close(self) -> None:
        os.close(self._fd)


class LeavesForeignSegment:
    """The same, done right: who attaches only detaches."""

    def __init__(self) -> None:
        self._path = _SOMEBODY_ELSE.path
        self._fd = os.open(self._path, os.O_RDONLY)
        try:
            self.size = configure()
        except BaseException:
            os.close(self._fd)
            raise

    def close(self) -> None:
        os.close(self._fd)
