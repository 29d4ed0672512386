"""The entry of a context manager as a target: ``__exit__`` is never called when ``__enter__`` fails."""

from __future__ import annotations

import os
from typing import Self

from tests.corpus._parts import configure, source
from tests.corpus._specimen import Specimen, at


class ForgetfulSession:
    """Relies on an ``__exit__`` that does not come."""

    def __init__(self) -> None:
        self._fd = -1
        self.size = 0

    def __enter__(self) -> Self:
        self._fd = os.open(source(), os.O_RDONLY)
        self.size = configure()
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class CarefulSession:
    """The same, done right."""

    def __init__(self) -> None:
        self._fd = -1
        self.size = 0

    def __enter__(self) -> Self:
        try:
            self._fd = os.open(source(), os.O_RDONLY)
            self.size = configure()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


FORGETFUL = ForgetfulSession()
CAREFUL = CarefulSession()

_ME = "tests.corpus.managers"
SPECIMENS = (
    Specimen(
        f"{_ME}:FORGETFUL.__enter__", "context manager", "relies on __exit__", (at("*:configure", "leak"),)
    ),
    Specimen(f"{_ME}:CAREFUL.__enter__", "context manager"),
    Specimen(
        f"{_ME}:ForgetfulSession.__enter__",
        "context manager",
        "relies on __exit__, a fresh object each time",
        (at("*:configure", "leak"),),
    ),
    Specimen(f"{_ME}:CarefulSession.__enter__", "context manager"),
)
