"""What a backend is: the part that listens to the interpreter and can raise in its place."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType, TracebackType
from typing import Any, Protocol


class Listener(Protocol):
    """Receives the calls made while a target runs, the same on every interpreter.

    Each method runs inside the interpreter's hook, at the place it reports: an exception that it
    raises comes out of that place. `frame` is the callee's own for Python code, the caller's for C.

    Attributes:
        shallow: whether only the calls that the target's own frames make are of interest.
        nests: whether a frame that an own frame calls can be the target's own as well.
    """

    shallow: bool

    @property
    def nests(self) -> bool: ...

    def is_root(self, frame: FrameType) -> bool:
        """Whether `frame`, called now, is the target's own."""

    def at_own(self) -> bool:
        """Whether the innermost frame that the listener knows to run is the target's own."""

    def python_call(self, frame: FrameType) -> None:
        """A Python function is about to run its first line (or a generator goes on)."""

    def python_return(self, frame: FrameType, value: Any) -> None:
        """A Python function is about to hand `value` back; not for a yield."""

    def python_yield(self, frame: FrameType) -> None:
        """A generator or coroutine suspends."""

    def python_unwind(self, frame: FrameType) -> None:
        """A Python function is left by an exception."""

    def c_call(self, frame: FrameType, function: object) -> None:
        """A C function or C type is about to be called from `frame`."""

    def c_return(self, frame: FrameType, function: object) -> None:
        """A C function has done its work and is about to hand over its result."""

    def c_raise(self, frame: FrameType, function: object) -> None:
        """A C function raised."""

    def standing(self, frames: list[tuple[FrameType, int]]) -> None:
        """These Python frames are running, the target's own first, each with the number of its activation.

        For a backend that is not told of their calls and returns; said before each call that it reports.
        """

    def unwinding(self, trace: TracebackType | None) -> None:
        """The exception that was just raised is on its way; its traceback still has the tool's frames."""

    def raised(self, frame: FrameType, exception: BaseException) -> None:
        """An exception comes out of a place in `frame`; heard at least in the target's own frames, at level
        `opcodes`."""

    def instruction(self, frame: FrameType, offset: int) -> Mapping[str, int] | None:
        """The target's own frame is about to execute the instruction at byte `offset`.

        Returns:
            What the backend is to look a key up in as its very last act, or None; see
            `faultinject.faults.arriving`.
        """


class ThreadListener(Protocol):
    """Receives the calls made in threads that are started while a fault is on its way.

    A rollback may run each release in a helper thread, to be able to give up on it. The methods are called in
    the thread they speak of, and an exception that one raises comes out of the place it was told of.
    """

    def call_elsewhere(self, frame: FrameType) -> None:
        """A Python function is about to run its first line (or a generator goes on)."""

    def leave_elsewhere(self, frame: FrameType, *, normal: bool, suspended: bool = False) -> None:
        """A Python function is about to be left: by its result, by a yield, or by an exception."""

    def c_call_elsewhere(self, frame: FrameType, function: object, *, before: bool) -> None:
        """A C function is about to run, or has run."""

    def unwinding_elsewhere(self, trace: TracebackType | None) -> None:
        """What was raised there is on its way; its traceback still has the tool's frames."""


class LineListener(Protocol):
    """Receives the lines that frames of its choice execute."""

    def wants(self, frame: FrameType) -> bool:
        """Whether the lines of what this frame runs are of interest; the same for each frame of a code."""

    def line(self, file: str, number: int) -> None:
        """A line of such a frame is about to be executed."""


class Backend(Protocol):
    """Raises faults by making a `Listener` hear of calls.

    Attributes:
        name: as written in reports.
        sees_implicit_calls: whether properties, operators and ``with`` are seen as calls.
    """

    name: str
    sees_implicit_calls: bool

    def install(self, listener: Listener, root: Callable[[FrameType], bool] | None = None) -> None:
        """Start listening in the calling thread.

        Args:
            root: where given, every instruction of the frames for which it is true is reported too.

        Raises:
            HookTakenError: a debugger, profiler or coverage holds the hook.
        """

    def before_raise(self, frame: FrameType) -> None:
        """Called by the listener just before it raises at `frame`, so that hearing goes on after it."""

    def pause(self) -> None:
        """Hear nothing until `resume`: from its own return on, nothing of the tool's runs in this thread."""

    def resume(self, began: Sequence[FrameType] = ()) -> None:
        """Hear again.

        Args:
            began: frames that were called in the pause and run now, the outermost first; the last has
                done nothing yet.
        """

    def hear_threads(self, listener: ThreadListener) -> None:
        """Also hear, until `remove`, of what threads do that are started from now on through `threading`.

        A thread made by ``_thread.start_new_thread`` cannot be heard on every interpreter, and is on none. A
        backend without a hook that threads inherit does nothing.
        """

    def hear_lines(self, listener: LineListener) -> None:
        """Also hear, from the next `install` on, of the lines that are executed in wanted frames.

        At least those that come after a raise; a backend without a hook for lines does nothing.
        """

    def remove(self) -> None:
        """Stop listening and leave the interpreter's hooks as they were. Safe to call twice."""


HARNESS: set[CodeType] = set()
"""Code objects of the tool's own frames that call a target; its callees are the target's frames."""

PASSED_THROUGH = frozenset(
    {
        contextlib._GeneratorContextManager.__enter__.__code__,
        contextlib._AsyncGeneratorContextManager.__aenter__.__code__,
    }
)
"""A generator-based context manager is entered through these: the generator is the target's code."""


def is_target_frame(frame: FrameType) -> bool:
    """Whether `frame` is the outermost of the target's own: called by the tool, at most through contextlib.

    Those that it calls may be own too, by their names: the listener knows.
    """
    if frame.f_code in PASSED_THROUGH or frame.f_code in HARNESS:
        return False
    back = frame.f_back
    while back is not None and back.f_code in PASSED_THROUGH:
        back = back.f_back
    return back is not None and back.f_code in HARNESS
