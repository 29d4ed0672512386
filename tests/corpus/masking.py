"""Another exception takes the place of the first."""

from __future__ import annotations

import contextlib
import sys

from tests.corpus._parts import Channel, configure
from tests.corpus._specimen import Specimen, at


class StartFailedError(Exception):
    """What some constructors raise instead of the cause."""


def _flush() -> None:
    raise OSError("nothing to flush")


class CleansUpNothing:
    """The clean-up takes for granted that there is something to close."""

    def __init__(self) -> None:
        try:
            self._channel = Channel()
            self.size = configure()
        except BaseException:
            self._channel.close()
            raise

    def close(self) -> None:
        self._channel.close()


class CleanUpFailsLate:
    """Closes everything, and then its clean-up fails."""

    def __init__(self) -> None:
        self._channel = Channel()
        try:
            self.size = configure()
        except BaseException:
            self._channel.close()
            _flush()
            raise

    def close(self) -> None:
        self._channel.close()


class CleanUpFailsEarly:
    """A failing clean-up step keeps the next one from running: a leak, and the exception is lost too."""

    def __init__(self) -> None:
        self._channel: Channel | None = None
        try:
            self._channel = Channel()
            self.size = configure()
        except BaseException:
            _flush()
            self.close()
            raise

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()


class CleanUpGoesOn:
    """The same, done right: what fails in the clean-up stops nothing and replaces nothing."""

    def __init__(self) -> None:
        self._channel: Channel | None = None
        try:
            self._channel = Channel()
            self.size = configure()
        except BaseException:
            with contextlib.suppress(OSError):
                _flush()
            self.close()
            raise

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()


class RaisesFromNone:
    """Tells the caller that it failed, and hides why."""

    def __init__(self) -> None:
        try:
            self.size = configure()
        except BaseException:
            raise StartFailedError("could not start") from None


class RaisesFromCause:
    """Even with the cause attached, the caller no longer gets the exception that was raised."""

    def __init__(self) -> None:
        try:
            self.size = configure()
        except BaseException as error:
            raise StartFailedError("could not start") from error


class ExitsOnFailure:
    """``sys.exit`` in the clean-up raises SystemExit in place of the first exception."""

    def __init__(self) -> None:
        try:
            self.size = configure()
        except BaseException:
            sys.exit(1)


class RaisesAgain:
    """The same, done right."""

    def __init__(self) -> None:
        try:
            self.size = configure()
        except BaseException:
            raise


_ME = "tests.corpus.masking"
SPECIMENS = (
    Specimen(
        f"{_ME}:CleansUpNothing",
        "masked",
        "closes what was never made",
        (at("*:Channel.__init__", "masked"),),
    ),
    Specimen(
        f"{_ME}:CleanUpFailsLate",
        "masked",
        "a failing clean-up replaces the fault",
        (at("*:configure", "masked"),),
    ),
    Specimen(
        f"{_ME}:CleanUpFailsEarly",
        "masked",
        "a failing clean-up skips the rest",
        (at("*:Channel.__init__", "masked"), at("*:configure", "leak")),
    ),
    Specimen(f"{_ME}:CleanUpGoesOn", "masked"),
    Specimen(
        f"{_ME}:RaisesFromNone", "masked", "raise ... from None", (at("*:configure", "masked"),), release=""
    ),
    Specimen(
        f"{_ME}:RaisesFromCause", "masked", "raise ... from error", (at("*:configure", "masked"),), release=""
    ),
    Specimen(
        f"{_ME}:ExitsOnFailure",
        "masked",
        "sys.exit in the clean-up",
        (at("*:configure", "masked"),),
        release="",
    ),
    Specimen(f"{_ME}:RaisesAgain", "masked", release=""),
)
