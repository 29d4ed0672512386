"""Faults through `sys.monitoring` (PEP 669), for Python 3.12 and later.

A callback that raises makes the exception come out of the place it was told of, and stays installed.
Python functions are reported when they start (so that properties, operators and ``with`` are seen as
on 3.11), C functions and C types when they are called.
"""

from __future__ import annotations

import sys
import threading
from _thread import get_ident
from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import Any

from faultinject.backends._callables import is_c_type
from faultinject.backends._forks import hears, hears_no_more
from faultinject.backends._protocol import LineListener, Listener, ThreadListener
from faultinject.errors import HookTakenError

_BEGINS = threading.Thread._bootstrap_inner.__code__  # type: ignore[attr-defined]
"""What a thread runs first, of what can be heard."""
_TOOL_ID = 4
"""0, 1, 2 and 5 are reserved by CPython, 3 is taken by Hypothesis, coverage starts at 1."""


class MonitoringBackend:
    """Listens through tool id 4 of `sys.monitoring`, in the thread that installed it."""

    name = "monitoring"
    sees_implicit_calls = True

    def __init__(self) -> None:
        self._installed = False
        self._registered: dict[int, Callable[..., Any]] = {}
        self._elsewhere: ThreadListener | None = None
        self._lines: LineListener | None = None
        self._heard: set[int] = set()

    def install(self, listener: Listener, root: Callable[[FrameType], bool] | None = None) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        holder = monitoring.get_tool(_TOOL_ID)
        if holder is not None:
            raise HookTakenError(
                f"sys.monitoring tool id {_TOOL_ID} is held by {holder!r} in this process. Run the sweep "
                "outside of it, or with --runner spawn, which starts a fresh interpreter for each case."
            )
        monitoring.use_tool_id(_TOOL_ID, "faultinject")
        self._installed = True
        events = monitoring.events
        self._python_call = listener.python_call
        callbacks = self._registered = self._callbacks(listener, root, events)
        self.resume()
        chosen = 0
        for event in callbacks:
            if event not in (events.C_RETURN, events.C_RAISE, events.INSTRUCTION):
                chosen |= event
        hears(self.remove)
        monitoring.set_events(_TOOL_ID, chosen)  # last: what is called after it is heard

    def before_raise(self, frame: FrameType) -> None:
        """Nothing to do: callbacks stay installed."""

    def pause(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        for event in self._registered:
            # The events stay on: to turn them off would change the code that is running.
            monitoring.register_callback(_TOOL_ID, event, None)

    def resume(self, began: Sequence[FrameType] = ()) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        if sys.version_info < (3, 13):
            # There a function checks for signals right after the event of its start, and later before it.
            for frame in began:
                self._python_call(frame)
        last = monitoring.events.CALL  # heard of last, so that no call made here is
        for event in sorted(self._registered, key=lambda event: bool(event == last)):
            monitoring.register_callback(_TOOL_ID, event, self._registered[event])

    def hear_threads(self, listener: ThreadListener) -> None:
        self._elsewhere = listener

    def hear_lines(self, listener: LineListener) -> None:
        self._lines = listener

    def remove(self) -> None:
        if not self._installed:
            return
        hears_no_more(self.remove)
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self._installed = False
        self._elsewhere = None
        self._heard.clear()
        monitoring.set_events(_TOOL_ID, 0)
        for code in self._local:
            monitoring.set_local_events(_TOOL_ID, code, 0)
        events = monitoring.events
        for name in (
            "PY_START",
            "PY_RESUME",
            "PY_THROW",
            "PY_RETURN",
            "PY_YIELD",
            "PY_UNWIND",
            "RAISE",
            "CALL",
            "C_RETURN",
            "C_RAISE",
            "INSTRUCTION",
            "LINE",
        ):
            monitoring.register_callback(_TOOL_ID, getattr(events, name), None)
        monitoring.free_tool_id(_TOOL_ID)

    def _callbacks(
        self, listener: Listener, root: Callable[[FrameType], bool] | None, events: Any
    ) -> dict[int, Callable[..., Any]]:
        thread = get_ident()
        frame_of = sys._getframe
        python_call, python_return = listener.python_call, listener.python_return
        c_call, c_return, c_raise = listener.c_call, listener.c_return, listener.c_raise
        python_yield, python_unwind = listener.python_yield, listener.python_unwind
        builtin, method = type(len), type(str.join)
        visible: dict[int, tuple[object, bool]] = {}
        self._local: set[CodeType] = set()
        set_local = sys.monitoring.set_local_events  # type: ignore[attr-defined,unused-ignore]

        heard = self._heard

        def elsewhere() -> ThreadListener | None:
            """Who is told of the running thread: nobody, unless a fault was on its way when it began."""
            return self._elsewhere if get_ident() in heard else None

        def is_callee(function: Any) -> bool:
            kind = type(function)
            if kind is builtin or kind is method:
                return True
            if not isinstance(function, type):
                return False
            entry = visible.get(id(function))
            if entry is None:
                entry = visible[id(function)] = (function, is_c_type(function))
            return entry[1]

        def start(code: CodeType, offset: int) -> None:
            if get_ident() == thread:
                frame = frame_of(1)
                if root is not None and code not in self._local and root(frame):
                    self._local.add(code)
                    set_local(_TOOL_ID, code, events.INSTRUCTION)
                python_call(frame)
            elif (other := self._elsewhere) is not None:
                if code is _BEGINS:
                    heard.add(get_ident())
                if get_ident() in heard:
                    other.call_elsewhere(frame_of(1))

        def resume(code: CodeType, offset: int) -> None:
            if get_ident() == thread:
                python_call(frame_of(1))
            elif (other := elsewhere()) is not None:
                other.call_elsewhere(frame_of(1))

        def throw(code: CodeType, offset: int, exception: BaseException) -> None:
            if get_ident() == thread:
                python_call(frame_of(1))
            elif (other := elsewhere()) is not None:
                other.call_elsewhere(frame_of(1))

        def leave(code: CodeType, offset: int, value: Any) -> None:
            if get_ident() == thread:
                python_return(frame_of(1), value)
            elif (other := elsewhere()) is not None:
                other.leave_elsewhere(frame_of(1), normal=True)

        def suspend(code: CodeType, offset: int, value: Any) -> None:
            if get_ident() == thread:
                python_yield(frame_of(1))
            elif (other := elsewhere()) is not None:
                other.leave_elsewhere(frame_of(1), normal=True, suspended=True)

        def unwind(code: CodeType, offset: int, exception: BaseException) -> None:
            if get_ident() == thread:
                python_unwind(frame_of(1))
            elif (other := elsewhere()) is not None:
                other.leave_elsewhere(frame_of(1), normal=False)

        def raising(code: CodeType, offset: int, exception: BaseException) -> None:
            if get_ident() == thread:
                listener.raised(frame_of(1), exception)
                listener.unwinding(exception.__traceback__)
            elif (other := elsewhere()) is not None:
                other.unwinding_elsewhere(exception.__traceback__)

        def call(code: CodeType, offset: int, function: Any, argument: Any) -> None:
            if get_ident() == thread:
                if is_callee(function):
                    c_call(frame_of(1), function)
            elif (other := elsewhere()) is not None and is_callee(function):
                other.c_call_elsewhere(frame_of(1), function, before=True)

        def c_leave(code: CodeType, offset: int, function: Any, argument: Any) -> None:
            if get_ident() == thread:
                if is_callee(function):
                    c_return(frame_of(1), function)
            elif (other := elsewhere()) is not None and is_callee(function):
                other.c_call_elsewhere(frame_of(1), function, before=False)

        def c_unwind(code: CodeType, offset: int, function: Any, argument: Any) -> None:
            if get_ident() == thread and is_callee(function):
                c_raise(frame_of(1), function)

        def instruction(code: CodeType, offset: int) -> None:
            if get_ident() == thread:
                sent = listener.instruction(frame_of(1), offset)
                if sent is not None:
                    sent["now"]  # no call after this: it would be where the signal is handled

        callbacks: dict[int, Callable[..., Any]] = {
            events.PY_START: start,
            events.PY_RESUME: resume,
            events.PY_THROW: throw,
            events.PY_RETURN: leave,
            events.PY_YIELD: suspend,
            events.PY_UNWIND: unwind,
            events.RAISE: raising,
            events.CALL: call,
            events.C_RETURN: c_leave,
            events.C_RAISE: c_unwind,
            events.INSTRUCTION: instruction,
        }
        if self._lines is not None:
            callbacks[events.LINE] = _line_callback(self._lines)
        return callbacks


def _line_callback(listener: LineListener) -> Callable[[CodeType, int], Any]:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    wanted: dict[CodeType, bool] = {}

    def line(code: CodeType, number: int) -> Any:
        wants = wanted.get(code)
        if wants is None:
            wants = wanted[code] = listener.wants(sys._getframe(1))
        if not wants:
            return monitoring.DISABLE
        listener.line(code.co_filename, number)
        return None

    return line
