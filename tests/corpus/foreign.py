"""Released though never owned: what was lent, what is somebody else's, what was never handed over."""

from __future__ import annotations

import contextlib
import os

from tests.corpus._parts import Channel, configure, source
from tests.corpus._specimen import Specimen, at

_LENT = Channel()
_SOMEBODYS_FD = os.open(source(), os.O_RDONLY)
_REGISTERED: list[RegisteredPart] = []


class ClosesLent:
    """Closes the channel it was lent together with its own."""

    def __init__(self, channel: Channel = _LENT) -> None:
        self._lent = channel
        self._own: Channel | None = None
        try:
            self._own = Channel()
            self.size = configure()
        except BaseException:
            if self._own is not None:
                self._own.close()
            self._lent.close()
            raise

    def close(self) -> None:
        if self._own is not None:
            self._own.close()


class LeavesLent:
    """The same, done right."""

    def __init__(self, channel: Channel = _LENT) -> None:
        self._lent = channel
        self._own: Channel | None = None
        try:
            self._own = Channel()
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._own is not None:
            self._own.close()


class ClosesForeignFd:
    """Closes a descriptor by a number that is not its own."""

    def __init__(self) -> None:
        self._fd = os.open(source(), os.O_RDONLY)
        try:
            self.size = configure()
        except BaseException:
            os.close(self._fd)
            with contextlib.suppress(OSError):
                os.close(_SOMEBODYS_FD)
            raise

    def close(self) -> None:
        os.close(self._fd)


class RegisteredPart:
    """A part that enters itself in a table before its constructor has returned."""

    def __init__(self) -> None:
        self._ends: tuple[int, ...] = os.pipe()
        _REGISTERED.append(self)

    def close(self) -> None:
        _REGISTERED.remove(self)
        ends, self._ends = self._ends, ()
        for end in ends:
            os.close(end)


class ClosesHalfConstructed:
    """Closes what it finds in the table, though its constructor never handed it over."""

    def __init__(self) -> None:
        self._part: RegisteredPart | None = None
        try:
            self._part = RegisteredPart()
            self.size = configure()
        except BaseException:
            for part in _REGISTERED[:]:
                part.close()
            raise

    def close(self) -> None:
        if self._part is not None:
            self._part.close()


class ClosesHandedOver:
    """The same, done right: a constructor that fails answers for what it made itself."""

    def __init__(self) -> None:
        self._part: RegisteredPart | None = None
        try:
            self._part = RegisteredPart()
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._part is not None:
            self._part.close()


_ME = "tests.corpus.foreign"
SPECIMENS = (
    Specimen(f"{_ME}:ClosesLent", "never owned", "a lent channel is closed", (at("*", "wrong-release"),)),
    Specimen(f"{_ME}:LeavesLent", "never owned"),
    Specimen(
        f"{_ME}:ClosesForeignFd",
        "never owned",
        "somebody else's descriptor is closed",
        (at("*:configure", "wrong-release"),),
    ),
    Specimen(
        f"{_ME}:ClosesHalfConstructed",
        "never owned",
        "a part whose constructor failed is closed",
        (at("*:RegisteredPart.__init__", "wrong-release", phase="after"),),
    ),
    Specimen(f"{_ME}:ClosesHandedOver", "never owned"),
)
