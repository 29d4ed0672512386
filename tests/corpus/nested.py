"""Constructors within constructors, and helpers: who had received a thing answers for it."""

from __future__ import annotations

import os

from tests.corpus._parts import Channel, configure, measure, source
from tests.corpus._specimen import Specimen, at


class _Inner:
    """Owns a descriptor and a channel; loses both if its own last step fails, which is its own affair."""

    def __init__(self) -> None:
        self._fd = os.open(source(), os.O_RDONLY)
        self._channel = Channel()
        self.size = configure()

    def close(self) -> None:
        self._channel.close()
        os.close(self._fd)


class ForgetsInner:
    """Forgets the finished inner object."""

    def __init__(self) -> None:
        self._inner = _Inner()
        self.length = measure()

    def close(self) -> None:
        self._inner.close()


class ClosesInner:
    """The same, done right."""

    def __init__(self) -> None:
        self._inner = _Inner()
        try:
            self.length = measure()
        except BaseException:
            self._inner.close()
            raise

    def close(self) -> None:
        self._inner.close()


class ForgetsOwnBesideInner:
    """Has a channel of its own when the inner constructor fails: that one is its to close."""

    def __init__(self) -> None:
        self._channel = Channel()
        self._inner = _Inner()
        try:
            self.length = measure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._inner.close()
        self._channel.close()


class ForgetsHelpers:
    """What a helper method acquired belongs to the constructor once the helper has returned."""

    def __init__(self) -> None:
        self._fd = -1
        self._open()
        self.length = measure()

    def _open(self) -> None:
        self._fd = os.open(source(), os.O_RDONLY)

    def close(self) -> None:
        os.close(self._fd)


class ClosesHelpers:
    """The same, done right."""

    def __init__(self) -> None:
        self._fd = -1
        try:
            self._open()
            self.length = measure()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        self._fd = os.open(source(), os.O_RDONLY)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


_ME = "tests.corpus.nested"
SPECIMENS = (
    Specimen(
        f"{_ME}:ForgetsInner", "nested", "a finished inner object is forgotten", (at("*:measure", "leak"),)
    ),
    Specimen(f"{_ME}:ClosesInner", "nested"),
    Specimen(
        f"{_ME}:ForgetsOwnBesideInner",
        "nested",
        "its own channel is forgotten if the inner one fails",
        (at("*:_Inner.__init__", "leak"),),
    ),
    Specimen(
        f"{_ME}:ForgetsHelpers", "nested", "a helper's descriptor is forgotten", (at("*:measure", "leak"),)
    ),
    Specimen(f"{_ME}:ClosesHelpers", "nested"),
)
