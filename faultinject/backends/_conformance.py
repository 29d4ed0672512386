"""Does a backend keep its promises? For the tests of whoever writes one."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any

from faultinject.backends._callables import callee_name
from faultinject.backends._protocol import HARNESS, Backend
from faultinject.errors import HookTakenError, UsageError

Make = Callable[[], Backend]
Phase = str
_PHASES = ("before", "after")
_TOOLS = {0: "a debugger", 1: "coverage", 2: "a profiler", 4: "another sweep"}


class _Injected(Exception):
    """What the check raises."""


class _Ear:
    """A listener that raises at one callee, as often as told, and counts how often it heard of it."""

    shallow = False
    nests = False

    def __init__(self, backend: Backend, callee: str, phase: Phase, times: int = 1) -> None:
        self.backend = backend
        self.names = (callee, f"{callee}.__init__")
        self.phase = phase
        self.times = times
        self.heard = 0
        self.elsewhere = 0
        self.instructions: set[CodeType] = set()
        self.raise_at_instruction = False
        self._thread = threading.get_ident()
        self._running: set[int] = set()

    def _hear(self, phase: Phase, name: str, frame: FrameType) -> None:
        if name not in self.names or phase != self.phase:
            return
        if threading.get_ident() != self._thread:
            self.elsewhere += 1
        self.heard += 1
        if self.times > 0:
            self.times -= 1
            self.backend.before_raise(frame)
            raise _Injected

    def is_root(self, frame: FrameType) -> bool:
        return frame.f_back is not None and frame.f_back.f_code in HARNESS

    def at_own(self) -> bool:
        return False

    def python_call(self, frame: FrameType) -> None:
        if id(frame) not in self._running:
            if frame.f_code.co_flags & 0x20:
                self._running.add(id(frame))
            self._hear("before", _name(frame), frame)

    def python_return(self, frame: FrameType, value: Any) -> None:
        self._running.discard(id(frame))
        self._hear("after", _name(frame), frame)

    def python_yield(self, frame: FrameType) -> None: ...

    def python_unwind(self, frame: FrameType) -> None:
        self._running.discard(id(frame))

    def c_call(self, frame: FrameType, function: object) -> None:
        self._hear("before", callee_name(function), frame)

    def c_return(self, frame: FrameType, function: object) -> None:
        self._hear("after", callee_name(function), frame)

    def c_raise(self, frame: FrameType, function: object) -> None: ...

    def standing(self, frames: list[tuple[FrameType, int]]) -> None: ...

    def unwinding(self, trace: TracebackType | None) -> None:
        last = None
        while trace is not None:
            if _is_tool(trace.tb_frame):
                if last is not None:
                    last.tb_next = None
                return
            last, trace = trace, trace.tb_next

    def raised(self, frame: FrameType, exception: BaseException) -> None: ...

    def instruction(self, frame: FrameType, offset: int) -> None:
        self.instructions.add(frame.f_code)
        if self.raise_at_instruction:
            self.raise_at_instruction = False
            self.backend.before_raise(frame)
            raise _Injected


_EAR = frozenset(vars(_Ear)[name].__code__ for name in vars(_Ear) if hasattr(vars(_Ear)[name], "__code__"))


def _name(frame: FrameType) -> str:
    return f"{frame.f_globals.get('__name__')}:{frame.f_code.co_qualname}"


def _is_tool(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__", "")
    if module == __name__:
        return frame.f_code in _EAR
    return module.startswith("faultinject.backends.") and not module.endswith("._samples")


def _call(function: Callable[[], object]) -> tuple[object, BaseException | None]:
    """The harness: what it calls is the target."""
    try:
        return function(), None
    except BaseException as exception:
        return None, exception


def check_backend(make: Make) -> None:
    """Check a backend in this process, in the calling thread, where nobody else holds a hook.

    In both phases it raises in the caller's line, out of Python functions, methods, classes, C functions, C
    types, generators, coroutines and context managers (and properties, where it sees implicit calls); what
    the callee made is let go; the traceback holds no frame of the tool once it is handled; hearing goes on
    after a raise, in this thread only; nothing is left installed; and a debugger, profiler or coverage that
    is there stays there and goes on working, whether the backend runs beside it or refuses with
    `HookTakenError`.

    Args:
        make: makes a fresh backend. One that wraps named attributes must name
            `faultinject.backends.SAMPLE_NAMES`.

    Raises:
        HookTakenError: a hook is held already.
        AssertionError: one line for each promise that was broken.
    """
    HARNESS.add(_call.__code__)
    try:
        problems = list(_problems(make))
        name = make().name
    finally:
        HARNESS.discard(_call.__code__)
    if problems:
        raise AssertionError("\n".join(f"backend {name!r}: {problem}" for problem in problems))


def _problems(make: Make) -> Iterator[str]:
    from faultinject.backends._samples import SAMPLES

    world = _world()
    for sample in SAMPLES:
        if sample.implicit and not make().sees_implicit_calls:
            continue
        for phase in _PHASES:
            for problem in _raises(make(), sample, phase):
                yield f"{phase} {sample.kind}: {problem}"
            left = [what for what, was, now in zip(_WORLD, world, _world(), strict=True) if was != now]
            if left:
                yield f"{phase} {sample.kind}: after remove() there is another {', '.join(left)}"
                return
    yield from _lets_go(make())
    yield from _stays_silent(make())
    yield from _instructions(make())
    for holder in _HOLDERS:
        yield from _beside(make, holder)


def _raises(backend: Backend, sample: Any, phase: Phase) -> Iterator[str]:
    from faultinject.backends._samples import LOG

    def twice() -> BaseException | None:
        caught = None
        try:
            sample.use()
        except _Injected as exception:
            caught = exception
        done.append(list(LOG))
        sample.use()
        return caught

    done: list[list[str]] = []
    LOG.clear()
    ear = _Ear(backend, sample.callee, phase)
    backend.install(ear)
    try:
        result, failure = _call(twice)
    finally:
        backend.remove()
        backend.remove()
    if failure is not None:
        yield f"a call that is no point any more failed: {type(failure).__name__}: {failure}"
        return
    if not isinstance(result, BaseException):
        yield "was not heard" if not ear.heard else "what was raised did not come out of the call"
        return
    if ear.heard != 2:
        yield f"hearing did not go on after the raise: heard {ear.heard} of 2 calls"
    if done[0] != (["done"] if phase == "after" else []):
        yield "the callee had run" if phase == "before" else "the callee had not done its work"
    frames = _frames(result.__traceback__)
    places = [(f.f_code.co_name, line - f.f_code.co_firstlineno) for f, line in frames]
    if (sample.frame, sample.line) not in places:
        yield f"came out of {places}, not of line {sample.line} of {sample.frame}, which makes the call"
    for frame, _ in frames:
        if _is_tool(frame):
            yield f"the traceback still holds the tool's {frame.f_code.co_qualname}"
    if _heard_after(ear, sample.use):
        yield "was heard after remove()"


def _heard_after(ear: _Ear, use: Callable[[], object]) -> bool:
    heard = ear.heard
    _call(use)
    return ear.heard != heard


def _lets_go(backend: Backend) -> Iterator[str]:
    """What a callee made, and its caller never got, must not live on in the traceback."""
    from faultinject.backends import _samples

    made: list[weakref.ref[object]] = []

    class Watched(_samples.Result):
        def __init__(self) -> None:
            made.append(weakref.ref(self))

    real = _samples.Result
    backend.install(_Ear(backend, f"{_samples.__name__}:function", "after"))
    _samples.Result = Watched  # type: ignore[misc]
    try:
        _, failure = _call(_samples.use_function)
    finally:
        _samples.Result = real  # type: ignore[misc]
        backend.remove()
    if failure is not None and made and made[0]() is not None:
        yield "after a Python function: what it made lives on as long as the exception does"


def _stays_silent(backend: Backend) -> Iterator[str]:
    """Another thread is not the target's."""
    from faultinject.backends._samples import function, use_function

    def in_a_thread() -> None:
        thread = threading.Thread(target=use_function)
        thread.start()
        thread.join()

    ear = _Ear(backend, f"{function.__module__}:function", "before")
    backend.install(ear)
    try:
        _call(in_a_thread)
    finally:
        backend.remove()
    if ear.heard:
        yield "heard a call of another thread"


def _instructions(backend: Backend) -> Iterator[str]:
    from faultinject.backends._samples import use_function

    wanted = use_function.__code__
    ear = _Ear(backend, "nothing", "before")
    try:
        backend.install(ear, lambda frame: frame.f_code is wanted)
    except UsageError:
        return
    ear.raise_at_instruction = True
    try:
        _, failure = _call(use_function)
        _call(use_function)
    finally:
        backend.remove()
    if not isinstance(failure, _Injected):
        yield "what was raised at an instruction did not come out of it"
    if ear.instructions != {wanted}:
        told = sorted(code.co_name for code in ear.instructions)
        yield f"told of the instructions of {told}, not of those of the wanted frame"


# ---- beside a debugger, a profiler, coverage ----


class _Profile:
    name = "sys.setprofile"

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        self.calls += 1

    def hold(self) -> bool:
        if sys.getprofile() is not None:
            return False
        sys.setprofile(self)
        return True

    def holds(self) -> bool:
        return sys.getprofile() is self

    def let_go(self) -> None:
        sys.setprofile(None)


class _Trace:
    name = "sys.settrace"

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        self.calls += 1
        return self

    def hold(self) -> bool:
        if sys.gettrace() is not None:
            return False
        sys.settrace(self)
        return True

    def holds(self) -> bool:
        return sys.gettrace() is self

    def let_go(self) -> None:
        sys.settrace(None)


class _Monitor:
    def __init__(self, tool: int) -> None:
        self.tool = tool
        self.name = f"sys.monitoring tool {tool} ({_TOOLS[tool]})"
        self.calls = 0

    def _heard(self, *_: object) -> None:
        self.calls += 1

    def hold(self) -> bool:
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None or monitoring.get_tool(self.tool) is not None:
            return False
        monitoring.use_tool_id(self.tool, self.name)
        monitoring.register_callback(self.tool, monitoring.events.PY_START, self._heard)
        monitoring.set_events(self.tool, monitoring.events.PY_START)
        return True

    def holds(self) -> bool:
        monitoring: Any = getattr(sys, "monitoring", None)
        return bool(
            monitoring.get_tool(self.tool) == self.name
            and monitoring.get_events(self.tool) == monitoring.events.PY_START
        )

    def let_go(self) -> None:
        monitoring: Any = getattr(sys, "monitoring", None)
        monitoring.set_events(self.tool, 0)
        monitoring.register_callback(self.tool, monitoring.events.PY_START, None)
        monitoring.free_tool_id(self.tool)


_Holder = _Profile | _Trace | _Monitor
_HOLDERS: tuple[Callable[[], _Holder], ...] = (
    _Profile,
    _Trace,
    *(lambda tool=tool: _Monitor(tool) for tool in _TOOLS),
)


def _beside(make: Make, make_holder: Callable[[], _Holder]) -> Iterator[str]:
    from faultinject.backends._samples import function, use_function

    holder, backend = make_holder(), make()
    ear = _Ear(backend, f"{function.__module__}:function", "before")
    refused = ""
    failure: BaseException | None = None
    if not holder.hold():
        return
    try:
        try:
            backend.install(ear)
        except HookTakenError as error:
            refused = str(error)
        else:
            try:
                _, failure = _call(use_function)
            finally:
                backend.remove()
        if refused:
            backend.remove()
        stayed = holder.holds()
        before = holder.calls
        use_function()
        works = holder.calls > before
    finally:
        holder.let_go()
    if not stayed:
        yield f"beside {holder.name}: it was displaced"
    elif not works:
        yield f"beside {holder.name}: it no longer works"
    if not refused and not isinstance(failure, _Injected):
        yield f"beside {holder.name}: did not refuse, and what it raised did not come out"


_WORLD = ("profile function", "trace function", "monitoring tool")


def _world() -> tuple[object, object, object]:
    monitoring: Any = getattr(sys, "monitoring", None)
    tools: tuple[object, ...] = ()
    if monitoring is not None:
        held = [tool for tool in range(6) if monitoring.get_tool(tool) is not None]
        tools = tuple((tool, monitoring.get_tool(tool), monitoring.get_events(tool)) for tool in held)
    return sys.getprofile(), sys.gettrace(), tools


def _frames(trace: TracebackType | None) -> list[tuple[FrameType, int]]:
    found: list[tuple[FrameType, int]] = []
    while trace is not None:
        found.append((trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return found
