"""What the tests of the patching backend wrap, and a target that calls it."""

from __future__ import annotations

import io
import mmap
import os
from os import getpid as early_bound

DEVICE = "/dev/null"


def function() -> int:
    return 1


class Base:
    def inherited(self) -> str:
        return "inherited"

    @classmethod
    def named(cls) -> str:
        return cls.__name__

    @staticmethod
    def fixed() -> str:
        return "fixed"

    @property
    def value(self) -> int:
        return 1


class Child(Base):
    opened = os.open

    def own(self) -> str:
        return "own"


READY = Child()


class Forgets:
    """Gives nothing back; each of its calls is where a test puts a fault."""

    def __init__(self) -> None:
        self.first = os.open(DEVICE, os.O_RDONLY)
        self.second = self.opens_two()
        function()

    def opens_two(self) -> tuple[int, int]:
        opened = os.open(DEVICE, os.O_RDONLY)
        function()
        return opened, os.open(DEVICE, os.O_RDONLY)

    def close(self) -> None:
        for number in (self.first, *self.second):
            os.close(number)


class GivesBack:
    """The same, done right."""

    def __init__(self) -> None:
        self.opened: list[int] = []
        try:
            self.opened.append(os.open(DEVICE, os.O_RDONLY))
            self.opens_another()
            function()
        except BaseException:
            self.close()
            raise

    def opens_another(self) -> None:
        self.opened.append(os.open(DEVICE, os.O_RDONLY))

    def close(self) -> None:
        while self.opened:
            os.close(self.opened.pop())


class CallsEarlyBound:
    def __init__(self) -> None:
        self.number = early_bound()

    def close(self) -> None: ...


class Maps:
    def __init__(self) -> None:
        self.mapped = mmap.mmap(-1, 4096)
        self.buffer = io.BytesIO()

    def close(self) -> None:
        self.mapped.close()


def make_in_loop() -> list[int]:
    """Each call of the helper is its own activation, although all use the same memory."""
    return [helper() for _ in range(3)]


def helper() -> int:
    function()
    return function()
