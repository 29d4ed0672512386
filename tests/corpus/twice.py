"""Released twice."""

from __future__ import annotations

import contextlib

from tests.corpus._parts import Channel, configure, measure
from tests.corpus._specimen import Specimen, at


class ClosesTwice:
    """An inner and an outer handler both close the channel."""

    def __init__(self) -> None:
        self._channel = Channel()
        try:
            try:
                self.size = configure()
            except BaseException:
                self._channel.close()
                raise
            self.length = measure()
        except BaseException:
            self._channel.close()
            raise

    def close(self) -> None:
        self._channel.close()


class ClosesOnce:
    """The same, done right."""

    def __init__(self) -> None:
        self._channel = Channel()
        try:
            self.size = configure()
            self.length = measure()
        except BaseException:
            self._channel.close()
            raise

    def close(self) -> None:
        self._channel.close()


class ClosesBesideStack:
    """The exit stack closes the channel, and so does a handler around it."""

    def __init__(self) -> None:
        self._channel: Channel | None = None
        try:
            with contextlib.ExitStack() as stack:
                self._channel = Channel()
                stack.callback(self._channel.close)
                self.size = configure()
                stack.pop_all()
        except BaseException:
            if self._channel is not None:
                self._channel.close()
            raise

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()


_ME = "tests.corpus.twice"
SPECIMENS = (
    Specimen(
        f"{_ME}:ClosesTwice",
        "released twice",
        "two handlers close one channel",
        (at("*:configure", "double-release"),),
    ),
    Specimen(f"{_ME}:ClosesOnce", "released twice"),
    Specimen(
        f"{_ME}:ClosesBesideStack",
        "released twice",
        "a stack and a handler close one channel",
        (at("*:configure", "double-release"),),
    ),
)
