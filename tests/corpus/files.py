"""Temporary directories and file objects."""

from __future__ import annotations

import shutil
import tempfile
from typing import BinaryIO

from tests.corpus._parts import configure, source
from tests.corpus._specimen import Specimen, at

_PREFIX = "faultinject-"


class ForgottenDirectory:
    """Makes a directory that nobody removes."""

    def __init__(self) -> None:
        self._path = tempfile.mkdtemp(prefix=_PREFIX)
        self.size = configure()

    def close(self) -> None:
        shutil.rmtree(self._path)


class RemovedDirectory:
    """The same, done right."""

    def __init__(self) -> None:
        self._path = tempfile.mkdtemp(prefix=_PREFIX)
        try:
            self.size = configure()
        except BaseException:
            shutil.rmtree(self._path)
            raise

    def close(self) -> None:
        shutil.rmtree(self._path)


class LateDirectory:
    """Relies on the finalizer of `tempfile.TemporaryDirectory`."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix=_PREFIX)
        self.size = configure()

    def close(self) -> None:
        self._directory.cleanup()


class PromptDirectory:
    """The same, done right."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix=_PREFIX)
        try:
            self.size = configure()
        except BaseException:
            self._directory.cleanup()
            raise

    def close(self) -> None:
        self._directory.cleanup()


class LateFile:
    """Its file object lives as long as somebody holds the exception."""

    def __init__(self) -> None:
        self._file = open(source(), "rb")  # noqa: SIM115 - the object under test keeps it open
        self.size = configure()

    def close(self) -> None:
        self._file.close()


class LateLocalFile:
    """A local name is no better: the traceback holds the frame."""

    def __init__(self) -> None:
        handle = open(source(), "rb")  # noqa: SIM115 - the object under test keeps it open
        self.size = configure()
        self._file = handle

    def close(self) -> None:
        self._file.close()


class LateCycle:
    """Its file object is part of a reference cycle: only a collection closes it."""

    def __init__(self) -> None:
        self._me = self
        self._file = open(source(), "rb")  # noqa: SIM115 - the object under test keeps it open
        self.size = configure()

    def close(self) -> None:
        self._file.close()


class PromptFile:
    """The same, done right."""

    def __init__(self) -> None:
        self._file: BinaryIO | None = None
        try:
            self._file = open(source(), "rb")  # noqa: SIM115 - the object under test keeps it open
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class PassingFile:
    """A file object that no name holds is closed before the exception leaves the frame: no defect."""

    def __init__(self) -> None:
        self.first = open(source(), "rb").readline()  # noqa: SIM115 - closed by its last reference
        self.size = configure()


_ME = "tests.corpus.files"
SPECIMENS = (
    Specimen(
        f"{_ME}:ForgottenDirectory", "temp dir", "a directory is never removed", (at("*:configure", "leak"),)
    ),
    Specimen(f"{_ME}:RemovedDirectory", "temp dir"),
    Specimen(f"{_ME}:LateDirectory", "late", "removed by its finalizer only", (at("*:configure", "late"),)),
    Specimen(f"{_ME}:PromptDirectory", "late"),
    Specimen(f"{_ME}:LateFile", "late", "closed by its finalizer only", (at("*:configure", "late"),)),
    Specimen(
        f"{_ME}:LateLocalFile", "late", "a local file object is left open", (at("*:configure", "late"),)
    ),
    Specimen(f"{_ME}:LateCycle", "late", "closed by a collection only", (at("*:configure", "late"),)),
    Specimen(f"{_ME}:PromptFile", "late"),
    Specimen(f"{_ME}:PassingFile", "late", release=""),
)
