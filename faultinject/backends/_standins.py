"""What stands in the place of a wrapped callable.

Each tells its teller of a call in the three moments that a hook would: before it, after it, or that it
failed. Arguments and result are let go before a fault passes: its traceback holds the wrapper's frame, and
with it whatever that still names. Pytest leaves their frames out of what it shows, by the variable that it
looks for.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol


class Teller(Protocol):
    """Is told by the wrappers; an exception that it raises comes out of the call.

    `begin` gives the call a number, which `end` or `failed` gets: of calls that are under way at the same
    time, no frame says which is which. It gives 0 where it wants to hear no more of this one.
    """

    def begin(self, frame: FrameType, name: str, function: object) -> int: ...

    def end(self, frame: FrameType, function: object, call: int) -> None: ...

    def failed(self, frame: FrameType, function: object, call: int) -> None: ...


def make_wrapper(teller: Teller, name: str, function: Any, call: Callable[..., Any]) -> Any:
    """What to put in the place of `function`.

    A coroutine or generator function becomes one of its kind, which begins when it first runs and ends when
    it has run out, as a hook of the interpreter sees it. An asynchronous generator begins and ends where it
    is made.

    Args:
        name: as the user gave it.
        call: how `function` is called.
    """
    if inspect.iscoroutinefunction(function):
        return functools.wraps(function)(_coroutine(teller, name, function, call))
    if inspect.isgeneratorfunction(function):
        return functools.wraps(function)(_generator(teller, name, function, call))
    wrapper = _plain(teller, name, function, call)
    binds = hasattr(type(function), "__get__")
    return functools.wraps(function)(wrapper) if binds else Standin(function, wrapper)


def _plain(teller: Teller, name: str, function: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    begin, end, failed = teller.begin, teller.end, teller.failed

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        frame = _caller(sys._getframe(1))
        try:
            number = begin(frame, name, function)
        except BaseException:
            del args, kwargs, frame
            raise
        if not number:
            del frame
            return call(*args, **kwargs)
        try:
            result = call(*args, **kwargs)
        except BaseException:
            failed(frame, function, number)
            del args, kwargs, frame
            raise
        try:
            end(frame, function, number)
        except BaseException:
            del args, kwargs, frame, result
            raise
        return result

    return wrapper


def _generator(teller: Teller, name: str, function: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    begin, end, failed = teller.begin, teller.end, teller.failed

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:
            number = begin(_caller(sys._getframe(1)), name, function)
        except BaseException:
            del args, kwargs
            raise
        inner = call(*args, **kwargs)
        del args, kwargs
        try:
            result = yield from inner
        except BaseException:
            del inner
            if number:
                failed(_caller(sys._getframe(1)), function, number)
            raise
        del inner
        if number:
            try:
                end(_caller(sys._getframe(1)), function, number)
            except BaseException:
                del result
                raise
        return result

    return wrapper


def _coroutine(teller: Teller, name: str, function: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    begin, end, failed = teller.begin, teller.end, teller.failed

    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:
            number = begin(_caller(sys._getframe(1)), name, function)
        except BaseException:
            del args, kwargs
            raise
        inner = call(*args, **kwargs)
        del args, kwargs
        try:
            result = await inner
        except BaseException:
            del inner
            if number:
                failed(_caller(sys._getframe(1)), function, number)
            raise
        del inner
        if number:
            try:
                end(_caller(sys._getframe(1)), function, number)
            except BaseException:
                del result
                raise
        return result

    return wrapper


def _caller(frame: FrameType) -> FrameType:
    """The frame that called: not one of this file's."""
    place: FrameType | None = frame
    while place is not None and place.f_globals.get("__name__") == __name__:
        place = place.f_back
    return place if place is not None else frame


class Standin:
    """A callable that is not a function: a class, a C function, an object with ``__call__``.

    For everything but a call, and but identity, it is what it stands for.
    """

    def __init__(self, thing: Any, call: Callable[..., Any]) -> None:
        members = {"_thing": thing, "_call": call, "__wrapped__": thing}
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            value = getattr(thing, name, None)
            if isinstance(value, str):
                members[name] = value
        vars(self).update(members)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        call = self._call
        try:
            return call(*args, **kwargs)
        except BaseException:
            del args, kwargs
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_thing"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._thing, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._thing, name)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self._thing)

    def __subclasscheck__(self, subclass: type) -> bool:
        return issubclass(subclass, self._thing)

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[Any, ...]:
        return (self._thing,)

    def __getitem__(self, key: Any) -> Any:
        return self._thing[key]

    def __or__(self, other: Any) -> Any:
        return self._thing | other

    def __ror__(self, other: Any) -> Any:
        return other | self._thing

    def __eq__(self, other: object) -> bool:
        return other is self or bool(self._thing == other)

    def __hash__(self) -> int:
        return hash(self._thing)

    def __repr__(self) -> str:
        return repr(self._thing)
