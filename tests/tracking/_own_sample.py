"""Constructors with frames of their own beneath the outermost."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
from collections.abc import Callable, Iterator

from tests.tracking._sample import one, two


class Base:
    def __init__(self) -> None:
        self.first = one()
        self.second = two()


class Derived(Base):
    def __init__(self) -> None:
        super().__init__()
        self.third = one()


def derived() -> None:
    Derived()


class Handle:
    def __init__(self, number: int) -> None:
        self.number = one() + number


def announced(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def wrapper(self: object, *args: object) -> None:
        function(self, *args)

    return wrapper


class Announced:
    @announced
    def __init__(self, number: int) -> None:
        self.number = one() + number


def acquires_announced() -> None:
    acquire(Announced)


kept: list[object] = []


def acquire(make: Callable[[int], object]) -> object:
    kept.extend(map(make, (1,)))
    return kept.pop()


def acquires_twice() -> None:
    acquire(Handle)
    acquire(Handle)


def sorts() -> list[int]:
    return sorted([2, 1], key=lambda number: one() + number)


def maps_a_helper() -> None:
    kept.extend(map(helper, (1, 2)))
    kept.clear()


def helper(number: int) -> int:
    return one() + number


def through_a_stranger() -> None:
    stranger()


def stranger() -> None:
    helper(1)


@contextlib.contextmanager
def entered() -> Iterator[None]:
    one()
    yield


def enters() -> None:
    with entered():
        two()


async def waits() -> None:
    await inner()
    one()


async def inner() -> None:
    one()
    await pause()
    two()


class pause:
    def __await__(self) -> Iterator[None]:
        yield


def runs_coroutine() -> None:
    coroutine = waits()
    with contextlib.suppress(StopIteration):
        while True:
            coroutine.send(None)


class WithFinalizer:
    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        one()


def collects() -> None:
    WithFinalizer()
    gc.collect()


class Transaction:
    def close(self) -> None:
        one()


def closes() -> None:
    Transaction().close()


def fails_inside_a_helper() -> None:
    with contextlib.suppress(ValueError):
        raises()
    one()


def raises() -> None:
    one()
    raise ValueError


class Opens:
    """Two descriptors, made in its base class's frame."""

    def __init__(self) -> None:
        self.numbers = [os.open("/dev/null", os.O_RDONLY), os.open("/dev/null", os.O_RDONLY)]


class OpensMore(Opens):
    def __init__(self) -> None:
        super().__init__()
        self.numbers.append(os.open("/dev/null", os.O_RDONLY))
