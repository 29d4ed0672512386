"""A constructor that takes arguments, and the other kinds of callable that can be a target."""

from __future__ import annotations

import os
from typing import Self


def make_settings() -> dict[str, int]:
    """Called before every construction, outside of the target."""
    return {"size": 64}


class Channel:
    def __init__(self, settings: dict[str, int], name: str) -> None:
        self.name = name
        self.reader, self.writer = os.pipe()
        try:
            self.greet(settings["size"])
        except BaseException:
            self.close()
            raise

    def greet(self, size: int) -> None:
        os.write(self.writer, b"x" * size)

    def close(self) -> None:
        os.close(self.writer)
        os.close(self.reader)

    @classmethod
    def open(cls) -> Self:
        return cls(make_settings(), "default")


def open_channel() -> Channel:
    return Channel.open()


async def open_in_a_task() -> Channel:
    return Channel.open()


def discard(channel: Channel) -> None:
    """Gives a channel back."""
    channel.close()


class Session:
    def __enter__(self) -> Self:
        self.channel = Channel.open()
        return self

    def __exit__(self, *exception: object) -> None:
        self.channel.close()
