"""Classmethods and plain functions that build and hand over."""

from __future__ import annotations

import contextlib
import os
from typing import Self

from tests.corpus._parts import Channel, configure, source
from tests.corpus._specimen import Specimen, at


class Link:
    """Owns a descriptor, once a classmethod has opened it."""

    _fd = -1

    @classmethod
    def open_forgetfully(cls) -> Self:
        """Forgets the half-made link."""
        link = cls()
        link._fd = os.open(source(), os.O_RDONLY)
        configure()
        return link

    @classmethod
    def open_carefully(cls) -> Self:
        """The same, done right."""
        link = cls()
        try:
            link._fd = os.open(source(), os.O_RDONLY)
            configure()
        except BaseException:
            link.close()
            raise
        return link

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class Wrapper:
    """Owns the channel that it is given."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def close(self) -> None:
        self._channel.close()


def make_forgetfully() -> Wrapper:
    """Forgets the channel until the wrapper has taken it."""
    channel = Channel()
    configure()
    return Wrapper(channel)


def make_carefully() -> Wrapper:
    """The same, done right."""
    with contextlib.ExitStack() as stack:
        channel = Channel()
        stack.callback(channel.close)
        configure()
        wrapper = Wrapper(channel)
        stack.pop_all()
        return wrapper


_ME = "tests.corpus.factories"
SPECIMENS = (
    Specimen(
        f"{_ME}:Link.open_forgetfully",
        "classmethod",
        "a half-made link is forgotten",
        (at("*:configure", "leak"),),
    ),
    Specimen(f"{_ME}:Link.open_carefully", "classmethod"),
    Specimen(
        f"{_ME}:make_forgetfully",
        "function",
        "a channel is forgotten",
        (at("*:configure", "leak"), at("*:Wrapper.__init__", "leak")),
    ),
    Specimen(f"{_ME}:make_carefully", "function"),
)
