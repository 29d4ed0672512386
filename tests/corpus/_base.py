"""A base class whose constructor acquires, for subclasses in another module."""

from __future__ import annotations

from tests.corpus._parts import Channel, configure


class Base:
    """Owns two channels, and leaves it to its subclass to give them back where construction fails."""

    _first: Channel | None = None
    _second: Channel | None = None

    def __init__(self) -> None:
        self._first = Channel()
        self._second = Channel()
        self.size = configure()

    def close(self) -> None:
        for channel in (self._second, self._first):
            if channel is not None:
                channel.close()
