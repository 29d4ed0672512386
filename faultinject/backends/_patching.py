"""Faults through wrappers put in the place of named attributes, on any interpreter.

What is wrapped is reported as a C call would be: from its caller, when it starts and when it ends. No
interpreter hook is held, so a debugger, profiler or coverage may be active, and callables are reached that
only C code calls. The price: nothing but the named callables is heard. Releases are judged by what the
probes see, and a frame that swallows a fault beneath the target is not named.

Two limits come from how Python looks names up. Whoever did ``from module import function`` before the
wrapper was there keeps the original (early binding), as does whoever holds a bound method or a class: name
the attribute in the module that uses it. And ``type(x) is module.Class`` is false while ``Class`` is
wrapped; `isinstance`, `issubclass` and subclassing are not affected.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from _thread import get_ident
from collections.abc import Callable, Sequence
from itertools import count
from types import (
    ClassMethodDescriptorType,
    FrameType,
    FunctionType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
from typing import Any

from faultinject._near import near
from faultinject.backends._forks import hears, hears_no_more
from faultinject.backends._protocol import LineListener, Listener, ThreadListener, is_target_frame
from faultinject.backends._standins import make_wrapper
from faultinject.errors import UsageError

_HOW = "write it as module:qualname, such as socket:socket.bind or os:open"
_MISSING = object()
_METHODS = (FunctionType, MethodDescriptorType, WrapperDescriptorType)
_NUMBERS = count(1)


class PatchingBackend:
    """Listens through wrappers of named attributes, in the thread that installed it.

    Args:
        attributes: ``module:qualname`` of each: a function, C function, class or C type of a module, a
            method, classmethod or staticmethod of a class (its own or inherited), or a callable that an
            object holds.

    Raises:
        UsageError: nothing is named, a name is not found or cannot be called or replaced.
    """

    name = "patching"
    sees_implicit_calls = False

    def __init__(self, attributes: Sequence[str]) -> None:
        if not attributes:
            raise UsageError(
                "the patching backend wraps named callables, and none is named: "
                "give --patch module:qualname, once for each"
            )
        self._patches = [Patch(name) for name in dict.fromkeys(attributes)]
        self._listener: Listener | None = None
        self._thread = 0
        self._busy = False
        self._reached: set[str] = set()
        self._numbers: dict[int, tuple[object, int]] = {}
        self._trace = self._strip

    @property
    def unreached(self) -> tuple[str, ...]:
        """Names that were never called beneath the target."""
        return tuple(patch.name for patch in self._patches if patch.name not in self._reached)

    def install(self, listener: Listener, root: Callable[[FrameType], bool] | None = None) -> None:
        if root is not None:
            raise UsageError(
                "the patching backend cannot see single instructions: "
                "sweep level opcodes without --backend patching"
            )
        self.remove()
        self._listener = listener
        self._thread = get_ident()
        hears(self.remove)
        try:
            for patch in self._patches:
                patch.put(make_wrapper(self, patch.name, patch.function, patch.call))
        except BaseException:
            self.remove()
            raise

    def before_raise(self, frame: FrameType) -> None:
        """Have the wrapper taken off the traceback, where no debugger or coverage traces."""
        if sys.gettrace() is None:
            frame.f_trace = self._trace
            sys.settrace(_trace_nothing)

    def pause(self) -> None:
        """Nothing to do: it hears of no instruction, and only the wrapped calls run code of the tool's."""

    def resume(self, began: Sequence[FrameType] = ()) -> None:
        """Nothing to do."""

    def hear_threads(self, listener: ThreadListener) -> None:
        """Nothing to do: it hears of few calls, none of them in another thread."""

    def hear_lines(self, listener: LineListener) -> None:
        """Nothing to do: it hears of no line."""

    def remove(self) -> None:
        if self._listener is None:
            return
        self._listener = None
        hears_no_more(self.remove)
        self._numbers.clear()
        if sys.gettrace() is _trace_nothing:
            sys.settrace(None)
        for patch in reversed(self._patches):
            patch.take_back()

    # ---- what the wrappers tell ----

    def begin(self, frame: FrameType, name: str, function: object) -> int:
        """A wrapped callable is about to be called; 0 where `frame` is not beneath the target."""
        listener = self._listener
        if listener is None or self._busy or get_ident() != self._thread:
            return 0
        return self._tell(frame, lambda: listener.c_call(frame, function), name)

    def end(self, frame: FrameType, function: object, call: int) -> None:
        """It is about to return to `frame`."""
        listener = self._listener
        if listener is not None:
            self._tell(frame, lambda: listener.c_return(frame, function))

    def failed(self, frame: FrameType, function: object, call: int) -> None:
        """It raised."""
        listener = self._listener
        if listener is not None:
            self._tell(frame, lambda: listener.c_raise(frame, function))

    def _tell(self, frame: FrameType, what: Callable[[], None], name: str = "") -> bool:
        # The listener's own looks may go through what is wrapped here.
        self._busy = True
        try:
            if not self._announce(frame):
                return False
            if name:
                self._reached.add(name)
            what()
        finally:
            self._busy = False
        return True

    def _announce(self, frame: FrameType) -> bool:
        """Tell the listener which frames run, from the target's own to `frame`; false without a target's."""
        frames: list[FrameType] = []
        depth = 0
        place: FrameType | None = frame
        while place is not None:
            if place.f_globals.get("__name__") not in _OWN:
                frames.append(place)
            # The outermost counts: the harness's frames also enter context managers within a target.
            if is_target_frame(place):
                depth = len(frames)
            place = place.f_back
        if not depth or self._listener is None:
            return False
        del frames[depth:]
        frames.reverse()
        known, self._numbers = self._numbers, {}
        self._listener.standing([(one, self._number(one, known)) for one in frames])
        return True

    def _number(self, frame: FrameType, known: dict[int, tuple[object, int]]) -> int:
        """Number of a frame's activation. A frame's id says nothing: the next call gets the same memory.

        So the frame is marked, by an attribute that means nothing while nobody traces. Where somebody does,
        a frame at the same address that runs the same code is taken for the same.
        """
        mark = frame.f_trace
        if isinstance(mark, _Mark):
            return mark.number
        if mark is None and sys.gettrace() in (None, _trace_nothing):
            frame.f_trace = mark = _Mark(next(_NUMBERS))
            return mark.number
        code, number = known.get(id(frame), (None, 0))
        if code is not frame.f_code:
            number = next(_NUMBERS)
        self._numbers[id(frame)] = (frame.f_code, number)
        return number

    def _strip(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "exception":
            if sys.gettrace() is _trace_nothing:
                sys.settrace(None)
            if self._listener is not None:
                self._listener.unwinding(arg[2])
            return None
        return self._trace


_OWN = frozenset({__name__, make_wrapper.__module__})


def _trace_nothing(frame: FrameType, event: str, arg: Any) -> None:
    return None


class _Mark:
    """Sits where a trace function would, and stays when asked."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, frame: FrameType, event: str, arg: Any) -> _Mark:
        return self


class Patch:
    """One attribute: what is there, and how to put it back.

    Args:
        name: its ``module:qualname``.
        what: what the name was given as, for the errors.

    Raises:
        UsageError: it is not found, or cannot be called or replaced.
    """

    def __init__(self, name: str, what: str = "--patch") -> None:
        self.name = name
        self.what = what
        self.holder, self.attribute = _holder(name, what)
        self.function: Any
        """What is called, for its name."""
        self.call: Callable[..., Any]
        self._dress: Callable[[Any], Any] = _as_is
        members = getattr(self.holder, "__dict__", {})
        self._kept = members.get(self.attribute, _MISSING)
        self._put: object = _MISSING
        if isinstance(self.holder, type):
            self._look_in_class(self.holder)
        else:
            self.function = self.call = getattr(self.holder, self.attribute)
        if not callable(self.call):
            raise UsageError(f"{what} {name}: it is a {type(self.call).__name__}, which cannot be called")

    def put(self, wrapper: Any) -> None:
        new = self._dress(wrapper)
        try:
            setattr(self.holder, self.attribute, new)
        except (AttributeError, TypeError) as error:
            raise UsageError(
                f"{self.what} {self.name}: it cannot be replaced ({error}); "
                "name the attribute of a module through which it is called"
            ) from None
        self._put = new

    def take_back(self) -> None:
        put, self._put = self._put, _MISSING
        # Where the target itself has replaced the attribute meanwhile, that is how it wants it.
        if put is _MISSING or getattr(self.holder, "__dict__", {}).get(self.attribute) is not put:
            return
        if self._kept is _MISSING:
            delattr(self.holder, self.attribute)
        else:
            setattr(self.holder, self.attribute, self._kept)

    def _look_in_class(self, holder: type) -> None:
        if self.attribute == "__new__":
            raise UsageError(
                f"{self.what} {self.name}: name the class instead, {self.name.rpartition('.')[0]}"
            )
        raw: Any = inspect.getattr_static(holder, self.attribute)
        self.function = self.call = raw
        if isinstance(raw, staticmethod):
            self.function = self.call = raw.__func__
            self._dress = staticmethod
        elif isinstance(raw, classmethod):
            self.function = self.call = raw.__func__
            self._dress = classmethod
        elif isinstance(raw, ClassMethodDescriptorType):
            self.call = lambda cls, *args, **kwargs: raw.__get__(None, cls)(*args, **kwargs)
            self._dress = classmethod
        elif not isinstance(raw, _METHODS):
            if hasattr(type(raw), "__get__"):
                raise UsageError(
                    f"{self.what} {self.name}: it is a {type(raw).__name__}, which has no call to wrap; "
                    "leave --backend out, the interpreter's own backend sees it"
                )
            self._dress = staticmethod


def _as_is(wrapper: Any) -> Any:
    return wrapper


def _holder(name: str, what: str) -> tuple[Any, str]:
    """What holds the named attribute, and the attribute's own name."""
    module_name, colon, qualname = name.partition(":")
    parts = qualname.split(".")
    if not colon or not all(part.isidentifier() for part in (*module_name.split("."), *parts)):
        raise UsageError(f"{what} {name}: not a name of that form; {_HOW}")
    try:
        value: Any = importlib.import_module(module_name)
    except Exception as error:
        raise UsageError(
            f"{what} {name}: {module_name} cannot be imported ({type(error).__name__}: {error})"
        ) from None
    holder = value
    for index, part in enumerate(parts):
        holder = value
        try:
            value = getattr(holder, part)
        except AttributeError:
            where = module_name + (f":{'.'.join(parts[:index])}" if index else "")
            raise UsageError(f"{what} {name}: {where} has no {part!r}{near(part, dir(holder))}") from None
    return holder, parts[-1]
