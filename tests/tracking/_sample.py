from __future__ import annotations

import gc
import os
import weakref


def one() -> int:
    return 1


def two() -> int:
    return one() + one()


def target() -> int:
    total = one()
    for _ in range(3):
        total += two()
    total += one()
    return total + os.getpid() * 0


def both_ways() -> None:
    left()
    right()


def left() -> None:
    shared()


def right() -> None:
    shared()


def shared() -> None:
    one()


def loop() -> None:
    for _ in range(300):
        one()


class Thing:
    def __init__(self) -> None:
        self.number = one()

    def close(self) -> None:
        one()

    def __del__(self) -> None:
        one()


def with_guards() -> None:
    thing = Thing()
    thing.close()
    one()
    del thing


def with_callback() -> None:
    def gone(_: object) -> None:
        one()

    class Watched: ...

    watched = Watched()
    kept = weakref.ref(watched, gone)
    del watched
    gc.collect()
    del kept


def fails_inside() -> None:
    try:
        raises()
    except ValueError:
        one()


def raises() -> None:
    raise ValueError


def generates():
    yield one()
    yield one()


def runs_generator() -> int:
    return sum(generates())


def opens() -> tuple[int, ...]:
    """Two descriptors of its own, one that it is handed."""
    first = os.open("/dev/null", os.O_RDONLY)
    second = opens_one()
    return first, second


def opens_one() -> int:
    number = os.open("/dev/null", os.O_RDONLY)
    one()
    return number
