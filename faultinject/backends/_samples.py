"""What a backend must be able to make fail: one small use of each kind of callable.

Each use says where its call is written, and logs what was done, so that ``before`` (nothing was done) and
``after`` (all was done, nothing was handed over) can be told apart.
"""

from __future__ import annotations

import heapq
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass

LOG: list[str] = []
"""What the callees did."""


@dataclass(frozen=True)
class Sample:
    """A use of one kind of callable.

    Attributes:
        kind: for messages.
        callee: ``module:qualname`` of what is made to fail.
        use: calls it once.
        frame: name of the function that makes the call, and `line` the number of the call's line in it, the
            line after the ``def`` being 1.
        implicit: whether no call is written there, so that only some backends can see one.
    """

    kind: str
    callee: str
    use: Callable[[], object]
    frame: str
    line: int = 1
    implicit: bool = False


class Result:
    """What a callee makes: watched through a weak reference."""


class Made:
    def __init__(self) -> None:
        LOG.append("done")


class Holder:
    @property
    def value(self) -> Result:
        LOG.append("done")
        return Result()

    def method(self) -> Result:
        LOG.append("done")
        return Result()

    @classmethod
    def of_class(cls) -> Result:
        LOG.append("done")
        return Result()

    @staticmethod
    def static() -> Result:
        LOG.append("done")
        return Result()


class Manager:
    def __enter__(self) -> Result:
        LOG.append("done")
        return Result()

    def __exit__(self, *_: object) -> None: ...


class Raw(io.RawIOBase):
    def readable(self) -> bool:
        LOG.append("done")
        return True


def function() -> Result:
    LOG.append("done")
    return Result()


def generator() -> Iterator[int]:
    yield 1
    LOG.append("done")


async def coroutine() -> Result:
    LOG.append("done")
    return Result()


def use_function() -> object:
    return function()


def use_class() -> object:
    return Made()


def use_method() -> object:
    return Holder().method()


def use_classmethod() -> object:
    return Holder.of_class()


def use_staticmethod() -> object:
    return Holder.static()


def use_property() -> object:
    return Holder().value


def use_manager() -> object:
    with Manager() as made:
        return made


def use_generator() -> object:
    return list(generator())


async def awaits() -> object:
    return await coroutine()


def use_coroutine() -> object:
    running = awaits()
    try:
        running.send(None)
    except StopIteration as end:
        return end.value
    finally:
        running.close()
    raise AssertionError("it has nothing to wait for")


def use_c_function() -> object:
    return heapq.heappush(LOG, "done")  # type: ignore[func-returns-value]


def use_c_type() -> object:
    raw = Raw()
    return io.BufferedReader(raw)


_ME = __name__
SAMPLES = (
    Sample("a Python function", f"{_ME}:function", use_function, "use_function"),
    Sample("a class", f"{_ME}:Made", use_class, "use_class"),
    Sample("a method", f"{_ME}:Holder.method", use_method, "use_method"),
    Sample("a classmethod", f"{_ME}:Holder.of_class", use_classmethod, "use_classmethod"),
    Sample("a staticmethod", f"{_ME}:Holder.static", use_staticmethod, "use_staticmethod"),
    Sample("a context manager", f"{_ME}:Manager.__enter__", use_manager, "use_manager"),
    Sample("a generator", f"{_ME}:generator", use_generator, "use_generator"),
    Sample("a coroutine", f"{_ME}:coroutine", use_coroutine, "awaits"),
    Sample("a C function", "_heapq:heappush", use_c_function, "use_c_function"),
    Sample("a C type", "_io:BufferedReader", use_c_type, "use_c_type", 2),
    Sample("a property", f"{_ME}:Holder.value", use_property, "use_property", implicit=True),
)
SAMPLE_NAMES = (
    *(sample.callee for sample in SAMPLES if not sample.implicit and sample.callee.startswith(_ME)),
    "heapq:heappush",
    "io:BufferedReader",
)
"""The attributes that a backend which wraps named ones must be given to pass."""
