"""Bare file descriptors, which no finalizer closes."""

from __future__ import annotations

import os
from io import FileIO

from tests.corpus._parts import configure, measure, source
from tests.corpus._specimen import Specimen, at


class ForgottenFd:
    """Opens a file and forgets the descriptor when a later step fails."""

    def __init__(self) -> None:
        self._fd = os.open(source(), os.O_RDONLY)
        self.size = configure()

    def close(self) -> None:
        os.close(self._fd)


class ClosedFd:
    """The same, done right."""

    def __init__(self) -> None:
        self._fd = -1
        try:
            self._fd = os.open(source(), os.O_RDONLY)
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class WindowBeforeTry:
    """One call between the acquisition and the ``try`` that guards it."""

    def __init__(self) -> None:
        self._fd = os.open(source(), os.O_RDONLY)
        self.length = measure()
        try:
            self.size = configure()
        except BaseException:
            os.close(self._fd)
            raise

    def close(self) -> None:
        os.close(self._fd)


class NoWindow:
    """The same, done right: nothing is called between the acquisition and its ``try``."""

    def __init__(self) -> None:
        self.length = measure()
        self._fd = os.open(source(), os.O_RDONLY)
        try:
            self.size = configure()
        except BaseException:
            os.close(self._fd)
            raise

    def close(self) -> None:
        os.close(self._fd)


class LaterStepUnguarded:
    """The same helper twice: its second call comes after the guarded block has ended."""

    def __init__(self) -> None:
        self._fd = os.open(source(), os.O_RDONLY)
        try:
            self.size = configure()
        except BaseException:
            os.close(self._fd)
            raise
        self.length = configure()

    def close(self) -> None:
        os.close(self._fd)


class UnwrappedFd:
    """The bare descriptor belongs to nobody until the file object has taken it."""

    def __init__(self) -> None:
        self._file = os.fdopen(os.open(source(), os.O_RDONLY), "rb")

    def close(self) -> None:
        self._file.close()


class WrappedFd:
    """The same, done right: the file object opens its descriptor itself."""

    def __init__(self) -> None:
        self._file = FileIO(source(), "rb")

    def close(self) -> None:
        self._file.close()


class HalfClosedPipe:
    """Closes the writing end of its pipe, not the reading one."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        try:
            self.size = configure()
        except BaseException:
            os.close(self._writer)
            raise

    def close(self) -> None:
        os.close(self._writer)
        os.close(self._reader)


_ME = "tests.corpus.descriptors"
SPECIMENS = (
    Specimen(f"{_ME}:ForgottenFd", "fd", "an open descriptor is forgotten", (at("*:configure", "leak"),)),
    Specimen(f"{_ME}:ClosedFd", "fd"),
    Specimen(f"{_ME}:WindowBeforeTry", "fd", "a call lies between open and try", (at("*:measure", "leak"),)),
    Specimen(f"{_ME}:NoWindow", "fd"),
    Specimen(
        f"{_ME}:LaterStepUnguarded",
        "fd",
        "the last step is not guarded",
        (at("*:configure", "leak", occurrence=2),),
    ),
    Specimen(
        f"{_ME}:UnwrappedFd",
        "fd",
        "a descriptor on its way to its wrapper",
        (at("*:fdopen", "leak", phase="before"),),
    ),
    Specimen(f"{_ME}:WrappedFd", "fd"),
    Specimen(f"{_ME}:HalfClosedPipe", "fd", "one end of a pipe is forgotten", (at("*:configure", "leak"),)),
)
