"""Settings of the whole process: environment, directory, umask, import path, warnings."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from typing import Any, cast

from tests.corpus._parts import configure, unique
from tests.corpus._specimen import Specimen, at

_VARIABLE = "FAULTINJECT_CORPUS"
_HERE = os.path.dirname(os.path.abspath(__file__))
_UMASK = 0o031


class KeptVariable:
    """Sets an environment variable and forgets it."""

    def __init__(self) -> None:
        os.environ[_VARIABLE] = "1"
        self.size = configure()

    def close(self) -> None:
        del os.environ[_VARIABLE]


class RemovedVariable:
    """The same, done right."""

    def __init__(self) -> None:
        try:
            os.environ[_VARIABLE] = "1"
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        os.environ.pop(_VARIABLE, None)


class KeptDirectory:
    """Changes the working directory and does not go back."""

    def __init__(self) -> None:
        self._before = os.getcwd()
        os.chdir(_HERE)
        self.size = configure()

    def close(self) -> None:
        os.chdir(self._before)


class RestoredDirectory:
    """The same, done right."""

    def __init__(self) -> None:
        self._before = os.getcwd()
        try:
            os.chdir(_HERE)
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        os.chdir(self._before)


class KeptUmask:
    """Changes the umask and does not restore it."""

    def __init__(self) -> None:
        self._before = os.umask(_UMASK)
        self.size = configure()

    def close(self) -> None:
        os.umask(self._before)


class RestoredUmask:
    """The same, done right."""

    def __init__(self) -> None:
        self._before = os.umask(_UMASK)
        try:
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        os.umask(self._before)


class KeptImportPath:
    """Puts an entry on ``sys.path`` and leaves it there."""

    def __init__(self) -> None:
        self._entry = unique("path")
        sys.path.insert(0, self._entry)
        self.size = configure()

    def close(self) -> None:
        sys.path.remove(self._entry)


class RestoredImportPath:
    """The same, done right."""

    def __init__(self) -> None:
        self._entry = unique("path")
        try:
            sys.path.insert(0, self._entry)
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._entry in sys.path:
            sys.path.remove(self._entry)


class KeptFilter:
    """Silences a warning for ever."""

    def __init__(self) -> None:
        self._before = warnings.filters[:]
        warnings.filterwarnings("ignore", message="faultinject corpus")
        self.size = configure()

    def close(self) -> None:
        cast(list[Any], warnings.filters)[:] = self._before


class RestoredFilter:
    """The same, done right."""

    def __init__(self) -> None:
        with contextlib.ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            warnings.filterwarnings("ignore", message="faultinject corpus")
            self.size = configure()
            self._stack = stack.pop_all()

    def close(self) -> None:
        self._stack.close()


_ME = "tests.corpus.settings"
SPECIMENS = (
    Specimen(f"{_ME}:KeptVariable", "environment", "a variable stays set", (at("*:configure", "state"),)),
    Specimen(f"{_ME}:RemovedVariable", "environment"),
    Specimen(f"{_ME}:KeptDirectory", "cwd", "the directory stays changed", (at("*:configure", "state"),)),
    Specimen(f"{_ME}:RestoredDirectory", "cwd"),
    Specimen(f"{_ME}:KeptUmask", "umask", "the umask stays changed", (at("*:configure", "state"),)),
    Specimen(f"{_ME}:RestoredUmask", "umask"),
    Specimen(f"{_ME}:KeptImportPath", "sys.path", "an entry stays", (at("*:configure", "state"),)),
    Specimen(f"{_ME}:RestoredImportPath", "sys.path"),
    Specimen(f"{_ME}:KeptFilter", "warnings", "a filter stays", (at("*:configure", "state"),)),
    Specimen(f"{_ME}:RestoredFilter", "warnings"),
)
