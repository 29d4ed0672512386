"""Faults through `sys.setprofile`, for Python 3.11.

Two facts of CPython 3.11 shape this file. An exception raised by a profile function comes out of the
place that was profiled, and the profile function is removed: so a trace function is set just before,
on the frames of the stack, whose first ``exception`` event puts the profile function back. And calls
of C types are not profiled: frames whose code names one are traced instruction by instruction, which
shows the instruction before and the one after such a call.
"""

from __future__ import annotations

import dis
import sys
import threading
import weakref
from _thread import get_ident
from collections.abc import Callable, Sequence
from types import CodeType, FrameType, ModuleType
from typing import Any

from faultinject.backends._callables import is_c_type
from faultinject.backends._forks import hears, hears_no_more
from faultinject.backends._nested import make_nested_hook
from faultinject.backends._protocol import LineListener, Listener, ThreadListener
from faultinject.errors import HookTakenError

_GENERATOR = 0x20 | 0x80 | 0x200
_RETURN = dis.opmap["RETURN_VALUE"]
_YIELD = {
    dis.opmap[name]
    for name in ("YIELD_VALUE", "RETURN_GENERATOR", "SEND", "ASYNC_GEN_WRAP")
    if name in dis.opmap
}
_CALLS = {dis.opmap[name] for name in ("CALL", "CALL_FUNCTION_EX") if name in dis.opmap}


class SetprofileBackend:
    """Listens through the profile hook of the calling thread."""

    name = "setprofile"
    sees_implicit_calls = True

    def __init__(self) -> None:
        self._listener: Listener | None = None
        self._bytecode: dict[int, tuple[CodeType, bytes]] = {}
        self._hidden: dict[int, tuple[CodeType, dict[int, tuple[int, object]]]] = {}
        self._root: Callable[[FrameType], bool] | None = None
        self._after_call: dict[int, tuple[int, object]] = {}
        self._hidden_frames: set[int] = set()
        self._raised: Callable[[], BaseException | None] | None = None
        self._thread = 0
        self._elsewhere: ThreadListener | None = None
        self._lines: LineListener | None = None
        self._threads_hook: Any = None
        """What new threads were profiled with before."""

    def install(self, listener: Listener, root: Callable[[FrameType], bool] | None = None) -> None:
        holder = sys.getprofile() or sys.gettrace()
        if holder is not None:
            kind = "profile" if sys.getprofile() is not None else "trace"
            raise HookTakenError(
                f"sys.set{kind} is held by {getattr(holder, '__module__', None) or type(holder).__module__}: "
                "a debugger, profiler or coverage is active in this process. Run the sweep outside of it, "
                "or with --runner spawn, which starts a fresh interpreter for each case."
            )
        self._listener = listener
        self._thread = get_ident()
        self._root = root
        self._full_hook = self._make_hook(listener)
        self._hook = (
            self._make_shallow_hook(listener, self._full_hook) if listener.shallow else self._full_hook
        )
        if root is not None:
            sys.settrace(self._global_trace)
        hears(self.remove)
        sys.setprofile(self._hook)

    def remove(self) -> None:
        if self._listener is None:
            return
        if sys.getprofile() in (None, self._hook, self._late, self._skip):
            sys.setprofile(None)
        hears_no_more(self.remove)
        if self._elsewhere is not None:
            # A thread that goes on takes the hook out itself, at the next call it makes.
            self._elsewhere = None
            threading.setprofile(self._threads_hook)
        if sys.gettrace() in (None, self._global_trace):
            sys.settrace(None)
        self._listener = None
        self._raised = None
        self._after_call.clear()
        self._hidden_frames.clear()

    def before_raise(self, frame: FrameType) -> None:
        if get_ident() == self._thread and self._hook is not self._full_hook:
            # The unwinding is watched whole.
            self._hook = self._full_hook
            sys.setprofile(self._hook)
        lines = self._lines
        place: FrameType | None = frame
        while place is not None:
            if place.f_trace is None:
                place.f_trace = self._rearm
                place.f_trace_lines = False
            if lines is not None and lines.wants(place):
                place.f_trace_lines = True
            place = place.f_back
        if sys.gettrace() is None:
            sys.settrace(self._global_trace)

    def pause(self) -> None:
        sys.setprofile(None)
        sys.settrace(None)

    def resume(self, began: Sequence[FrameType] = ()) -> None:
        for frame in began:
            # Its own event does not come any more: a function checks for signals first, and then only if it
            # is traced by then.
            self._hook(frame, "call", None)
        if self._root is not None:
            sys.settrace(self._global_trace)
        sys.setprofile(self._skip)

    def _skip(self, frame: FrameType, event: str, arg: Any) -> None:
        """The hook until whoever called `resume` has returned, which is no call of the target's."""
        if not frame.f_globals.get("__name__", "").startswith("faultinject."):
            sys.setprofile(self._hook)
            self._hook(frame, event, arg)

    def hear_threads(self, listener: ThreadListener) -> None:
        if self._elsewhere is None:
            self._threads_hook = threading.getprofile()
            threading.setprofile(self._in_thread)
        self._elsewhere = listener

    def hear_lines(self, listener: LineListener) -> None:
        self._lines = listener

    def _in_thread(self, frame: FrameType, event: str, arg: Any) -> None:
        """The hook of a thread that was started while the fault was on its way."""
        listener = self._elsewhere
        if listener is None:
            sys.setprofile(None)
        elif event == "call":
            listener.call_elsewhere(frame)
        elif event == "return":
            operation = self._opcode_at(frame)
            suspended = operation in _YIELD or (
                arg is not None and bool(frame.f_code.co_flags & _GENERATOR) and operation != _RETURN
            )
            normal = suspended or arg is not None or operation == _RETURN
            listener.leave_elsewhere(frame, normal=normal, suspended=suspended)
        elif event == "c_call":
            listener.c_call_elsewhere(frame, arg, before=True)
        elif event == "c_return":
            listener.c_call_elsewhere(frame, arg, before=False)

    def _global_trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if self._root is not None and self._root(frame):
            return self._trace_all(frame)
        lines = self._lines
        # Before the fault nobody asks for lines, and the hook is there for opcodes only.
        if lines is not None and self._hook is self._full_hook and lines.wants(frame):
            return self._rearm
        return None

    def _rearm(self, frame: FrameType, event: str, arg: Any) -> Any:
        listener = self._listener
        if listener is None:
            return self._rearm
        unheard = sys.getprofile() is None
        if get_ident() != self._thread:
            return self._rearm_thread(event, arg) if unheard else self._rearm
        if unheard:
            sys.setprofile(self._hook)
        if event == "exception":
            listener.raised(frame, arg[1])
            listener.unwinding(arg[2])
        elif event == "line" and self._lines is not None:
            self._lines.line(frame.f_code.co_filename, frame.f_lineno)
        return self._rearm

    def _rearm_thread(self, event: str, arg: Any) -> Any:
        listener = self._elsewhere
        if listener is None:
            sys.settrace(None)
            return None
        sys.setprofile(self._in_thread)
        if event == "exception":
            listener.unwinding_elsewhere(arg[2])
        return self._rearm

    def _trace_all(self, frame: FrameType) -> Any:
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._instruction

    def _instruction(self, frame: FrameType, event: str, arg: Any) -> Any:
        listener = self._listener
        if listener is None:
            return None
        if event == "opcode":
            try:
                sent = listener.instruction(frame, frame.f_lasti)
            except BaseException as exception:
                self._strip_late(exception)
                raise
            self._hidden_call(frame)
            if sent is not None:
                sent["now"]  # no call after this: it would be where the signal is handled
        else:
            self._rearm(frame, event, arg)
        return self._instruction

    def _hidden_trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if self._listener is None:
            return None
        if event == "opcode":
            self._hidden_call(frame)
        else:
            self._rearm(frame, event, arg)
        return self._hidden_trace

    def _hidden_call(self, frame: FrameType) -> None:
        listener = self._listener
        assert listener is not None
        offset = frame.f_lasti
        waiting = self._after_call.pop(id(frame), None)
        if waiting is not None:
            if waiting[0] == offset:
                try:
                    listener.c_return(frame, waiting[1])
                except BaseException as exception:
                    self._strip_late(exception)
                    raise
            else:
                listener.c_raise(frame, waiting[1])
        entry = self._hidden.get(id(frame.f_code))
        call = entry[1].get(offset) if entry is not None else None
        if call is not None:
            self._after_call[id(frame)] = call
            try:
                listener.c_call(frame, call[1])
            except BaseException as exception:
                self._after_call.pop(id(frame), None)
                self._strip_late(exception)
                raise

    def _strip_late(self, exception: BaseException) -> None:
        """Have the tool's frames taken off an exception that a trace function raises.

        Such an exception removes the trace function, so that no ``exception`` event follows. The profile
        function goes on: it takes them off at the first event after the exception was handled.
        """
        try:
            self._raised = weakref.ref(exception)
        except TypeError:
            self._raised = lambda: exception
        sys.setprofile(self._late)

    def _trace_lines(self, frame: FrameType) -> None:
        """Hear of lines again, once the trace function that raised was removed: from the next call on."""
        lines = self._lines
        if lines is None:
            return
        place: FrameType | None = frame
        while place is not None:
            if lines.wants(place):
                lines.line(place.f_code.co_filename, place.f_lineno)
                place.f_trace = self._rearm
                place.f_trace_lines = True
            place = place.f_back
        sys.settrace(self._global_trace)

    def _late(self, frame: FrameType, event: str, arg: Any) -> None:
        exception = self._raised() if self._raised is not None else None
        trace = exception.__traceback__ if exception is not None else None
        # While it is on its way, what it shows of its traceback begins in this file.
        handled = trace is not None and trace.tb_frame.f_globals is not globals()
        if self._listener is not None and (exception is None or handled):
            self._raised = None
            sys.setprofile(self._hook)
            self._listener.unwinding(trace)
            self._trace_lines(frame)
        del exception, trace
        self._hook(frame, event, arg)

    def _make_hook(self, listener: Listener) -> Callable[[FrameType, str, Any], None]:
        python_call, python_return = listener.python_call, listener.python_return
        c_call, c_return, c_raise = listener.c_call, listener.c_return, listener.c_raise
        python_yield, python_unwind = listener.python_yield, listener.python_unwind
        hidden = self._hidden
        look = self._look_for_hidden_calls
        hidden_frames = self._hidden_frames
        shallow = listener.shallow
        opcode_at = self._opcode_at

        def hook(frame: FrameType, event: str, arg: Any) -> None:
            if event == "call":
                entry = hidden.get(id(frame.f_code))
                if entry is None:
                    entry = look(frame)
                if entry[1] and (not shallow or listener.is_root(frame)):
                    self._trace_hidden(frame)
                python_call(frame)
            elif event == "return":
                if hidden_frames and id(frame) in hidden_frames:
                    self._leave_hidden(frame)
                if arg is not None:
                    if frame.f_code.co_flags & _GENERATOR and opcode_at(frame) != _RETURN:
                        python_yield(frame)
                    else:
                        python_return(frame, arg)
                else:
                    operation = opcode_at(frame)
                    if operation == _RETURN:
                        python_return(frame, None)
                    elif operation in _YIELD:
                        python_yield(frame)
                    else:
                        python_unwind(frame)
            elif event == "c_call":
                c_call(frame, arg)
            elif event == "c_return":
                c_return(frame, arg)
            else:
                c_raise(frame, arg)

        return hook

    @staticmethod
    def _make_shallow_hook(
        listener: Listener, full: Callable[[FrameType, str, Any], None]
    ) -> Callable[[FrameType, str, Any], None]:
        """A hook that only counts what happens beneath the calls of the target's own frames.

        A construction can make a million calls; each costs a tenth of what the full hook would.
        """
        if listener.nests:
            return make_nested_hook(listener, full)
        depth = 0
        is_root = listener.is_root

        def hook(frame: FrameType, event: str, arg: Any) -> None:
            nonlocal depth
            if event == "call":
                if depth >= 2:
                    depth += 1
                    return
                if depth == 0 and not is_root(frame):
                    return
                depth += 1
                full(frame, event, arg)
            elif event == "return":
                if depth > 2:
                    depth -= 1
                elif depth:
                    depth -= 1
                    full(frame, event, arg)
            elif depth == 1:
                full(frame, event, arg)

        return hook

    def _opcode_at(self, frame: FrameType) -> int:
        code = frame.f_code
        entry = self._bytecode.get(id(code))
        if entry is None:
            # co_code is a fresh copy at every access; the code object is kept so that its id stays its own.
            entry = self._bytecode[id(code)] = (code, code.co_code)
        return entry[1][frame.f_lasti] if frame.f_lasti >= 0 else -1

    def _trace_hidden(self, frame: FrameType) -> None:
        if frame.f_trace is None:
            frame.f_trace = self._hidden_trace
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
        if sys.gettrace() is None:
            sys.settrace(self._global_trace)

        self._hidden_frames.add(id(frame))

    def _leave_hidden(self, frame: FrameType) -> None:
        self._after_call.pop(id(frame), None)
        self._hidden_frames.discard(id(frame))
        # A trace function is told of every call: not to be kept longer than a frame needs it.
        if not self._hidden_frames and self._root is None and sys.gettrace() == self._global_trace:
            sys.settrace(None)

    def _look_for_hidden_calls(self, frame: FrameType) -> tuple[CodeType, dict[int, tuple[int, object]]]:
        code = frame.f_code
        calls: dict[int, tuple[int, object]] = {}
        if _names_c_type(code, frame.f_globals):
            calls = _hidden_calls(code, frame.f_globals)
        entry = self._hidden[id(code)] = (code, calls)
        return entry


def _names_c_type(code: CodeType, namespace: dict[str, Any]) -> bool:
    names = code.co_names
    for name in names:
        thing = namespace.get(name)
        if thing is None:
            continue
        if isinstance(thing, ModuleType):
            members = vars(thing)
            if any(is_c_type(members.get(other)) for other in names):
                return True
        elif isinstance(thing, type) and is_c_type(thing):
            return True
    return False


def _hidden_calls(code: CodeType, namespace: dict[str, Any]) -> dict[int, tuple[int, object]]:
    """Byte offset of each call of a C type in `code`, with that of the next instruction.

    The callee is found from the loads before the call, for ``name(...)`` and ``module.name(...)``: the
    value stack of a frame cannot be read from Python.
    """
    calls: dict[int, tuple[int, object]] = {}
    callees: list[tuple[tuple[int | None, int | None], object]] = []
    instructions = list(dis.get_instructions(code))
    current: object = None
    start: tuple[int | None, int | None] = (None, None)
    for index, instruction in enumerate(instructions):
        operation = instruction.opname
        if operation in ("LOAD_GLOBAL", "LOAD_NAME"):
            current = namespace.get(instruction.argval)
            if is_c_type(current):
                callees.append((_start(instruction), current))
        elif operation in ("LOAD_ATTR", "LOAD_METHOD"):
            current = vars(current).get(instruction.argval) if isinstance(current, ModuleType) else None
            if is_c_type(current):
                callees.append((_start(instruction), current))
        elif instruction.opcode in _CALLS and callees:
            start = _start(instruction)
            for place, callee in reversed(callees):
                if place == start:
                    follower = _after(instructions, index)
                    calls[instruction.offset] = (follower, callee)
                    callees.remove((place, callee))
                    break
    return calls


def _start(instruction: dis.Instruction) -> tuple[int | None, int | None]:
    position = instruction.positions
    return (position.lineno, position.col_offset) if position is not None else (None, None)


def _after(instructions: list[dis.Instruction], index: int) -> int:
    return instructions[index + 1].offset if index + 1 < len(instructions) else -1
