"""A lock of the process, and a lock on a file."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import threading

from tests.corpus._parts import configure, unique
from tests.corpus._specimen import Specimen, at

_HELD = threading.Lock()
_RELEASED = threading.Lock()


class HeldLock:
    """Enters a lock for its lifetime and stays in it when a later step fails."""

    def __init__(self) -> None:
        if _HELD.locked():
            raise RuntimeError("already in use")
        stack = contextlib.ExitStack()
        stack.enter_context(_HELD)
        self.size = configure()
        self._stack = stack

    def close(self) -> None:
        self._stack.close()


class ReleasedLock:
    """The same, done right."""

    def __init__(self) -> None:
        if _RELEASED.locked():
            raise RuntimeError("already in use")
        with contextlib.ExitStack() as stack:
            stack.enter_context(_RELEASED)
            self.size = configure()
            self._stack = stack.pop_all()

    def close(self) -> None:
        self._stack.close()


class HeldFileLock:
    """Keeps a lock file, and the lock on it."""

    def __init__(self) -> None:
        self._path = os.path.join(tempfile.gettempdir(), unique("lock"))
        self._fd = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.size = configure()

    def close(self) -> None:
        os.unlink(self._path)
        os.close(self._fd)


class ReleasedFileLock:
    """The same, done right: what is known to be there is removed."""

    def __init__(self) -> None:
        self._path = os.path.join(tempfile.gettempdir(), unique("lock"))
        self._fd = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        os.unlink(self._path)
        os.close(self._fd)


_ME = "tests.corpus.locks"
SPECIMENS = (
    Specimen(f"{_ME}:HeldLock", "lock", "a lock stays held", (at("*:configure", "leak"),)),
    Specimen(f"{_ME}:ReleasedLock", "lock"),
    Specimen(
        f"{_ME}:HeldFileLock",
        "lock",
        "a file lock stays held",
        (at("*flock", "leak"), at("*:configure", "leak")),
    ),
    Specimen(f"{_ME}:ReleasedFileLock", "lock"),
)
