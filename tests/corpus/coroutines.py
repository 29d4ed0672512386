"""Coroutine functions as targets."""

from __future__ import annotations

import os

from tests.corpus._parts import source
from tests.corpus._specimen import Specimen, at


class Link:
    """Owns the descriptor that it is given."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def close(self) -> None:
        os.close(self._fd)


async def _handshake() -> int:
    return 1


async def open_forgetfully() -> Link:
    """Forgets the descriptor if the handshake, or the object that is to own it, fails."""
    fd = os.open(source(), os.O_RDONLY)
    await _handshake()
    return Link(fd)


async def open_carefully() -> Link:
    """The same, done right."""
    fd = os.open(source(), os.O_RDONLY)
    try:
        await _handshake()
        return Link(fd)
    except BaseException:
        os.close(fd)
        raise


_ME = "tests.corpus.coroutines"
SPECIMENS = (
    Specimen(
        f"{_ME}:open_forgetfully",
        "coroutine",
        "a descriptor is forgotten",
        (at("*:_handshake", "leak"), at("*:Link.__init__", "leak")),
    ),
    Specimen(f"{_ME}:open_carefully", "coroutine"),
)
