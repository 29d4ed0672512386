"""Names of frames, and the words by which releases and finalizers are known."""

from __future__ import annotations

import sys
import weakref
from types import CodeType, FrameType, FunctionType
from typing import Any

GUARDS = frozenset(
    """
    __exit__ __aexit__ __del__ aclose callback cancel cleanup clear close close_all closerange
    destroy detach disconnect dispose enter_async_context enter_context finalize free join
    join_thread kill killpg munmap pop_all push push_async_callback push_async_exit quit release
    release_lock remove removedirs rmdir rmtree sem_unlink server_close shm_unlink shutdown stop
    terminate tear_down teardown unfreeze unlink unlock unregister wait waitpid
    """.split()
)
"""Calls that release or that register a release. In the unharmed run they are no fault points by
default: what a refused release leaves is nobody's fault, and faults in a clean-up are second faults."""

_RELEASES = frozenset(
    """
    aclose cleanup close destroy disconnect dispose exit finalize free kill quit release shutdown
    stop teardown tear_down terminate unfreeze unlink unregister detach remove __exit__ __aexit__
    """.split()
)
_RELEASE_PREFIXES = (
    "clear_",
    "close_",
    "shutdown_",
    "stop_",
    "release_",
    "destroy_",
    "cleanup_",
    "teardown_",
)
STARTS = frozenset(
    """
    start open connect enter __enter__ __aenter__ acquire begin launch bind listen serve run setup
    initialize init up
    """.split()
)
_CONTAINERS = frozenset(
    """
    callback push enter_context pop_all push_async_exit cancel enter_async_context
    push_async_callback clear remove join wait detach
    """.split()
)
"""Guard names that are as often ordinary methods; they count as guards only where they are known."""

_GUARD_MODULES = frozenset(
    """
    contextlib _thread threading multiprocessing.process subprocess posix shutil
    multiprocessing.queues multiprocessing.popen_fork _io os weakref asyncio.tasks
    """.split()
)


def is_guard(name: str, module: str | None) -> bool:
    """Whether a call of `name` (last part of the qualified name) from `module` releases something."""
    return name in GUARDS and (name not in _CONTAINERS or module in _GUARD_MODULES)


def is_release_name(name: str) -> bool:
    """Whether a method of this name gives an object back."""
    return name in _RELEASES or name.lstrip("_").startswith(_RELEASE_PREFIXES)


_WRAPPER = 0x04 | 0x08
"""CO_VARARGS and CO_VARKEYWORDS: a decorator's wrapper takes whatever it is given."""


def _wrapped(frame: FrameType) -> Any:
    """The function that a decorator's wrapper stands for, found in its closure; `None` for other frames."""
    code = frame.f_code
    if code.co_flags & _WRAPPER != _WRAPPER or code.co_argcount or not code.co_freevars:
        return None
    functions = [v for name in code.co_freevars if isinstance(v := frame.f_locals.get(name), FunctionType)]
    return functions[0] if len(functions) == 1 else None


def frame_name(frame: FrameType) -> str:
    """``module:qualname`` of what a frame runs; a decorator's wrapper goes by what it wraps."""
    code = frame.f_code
    if "<locals>" in code.co_qualname:
        wrapped = _wrapped(frame)
        if wrapped is not None:
            return f"{wrapped.__module__}:{wrapped.__qualname__}"
    return f"{frame.f_globals.get('__name__', '?')}:{code.co_qualname}"


def simple_name(frame: FrameType) -> str:
    """The last part of `frame_name`."""
    code = frame.f_code
    if "<locals>" in code.co_qualname:
        wrapped = _wrapped(frame)
        if wrapped is not None:
            return str(wrapped.__name__)
    return code.co_name


def is_constructor(frame: FrameType) -> bool:
    """Whether a frame runs the ``__init__`` of its first argument's class, whatever a decorator calls it."""
    if simple_name(frame) == "__init__":
        return True
    for kind in type(first_argument(frame)).__mro__:
        if "__init__" in vars(kind):
            return getattr(vars(kind)["__init__"], "__code__", None) is frame.f_code
    return False


def short_callee(callee: str) -> str:
    """What is called, as an ownership table says it: ``gc.unfreeze``, ``Pool.close``, ``close``."""
    module, _, name = callee.partition(":")
    return f"{module}.{name}" if module in ("gc", "signal", "os", "shutil") else name


def is_stdlib(module: str | None) -> bool:
    """Whether a module belongs to the standard library, whose resources the probes see."""
    return (module or "").partition(".")[0] in sys.stdlib_module_names


def first_argument(frame: FrameType) -> Any:
    """The first positional argument of a frame that has not changed it; `None` without one."""
    code = frame.f_code
    if code.co_argcount:
        return frame.f_locals.get(code.co_varnames[0])
    if code.co_flags & 0x04:
        arguments = frame.f_locals.get(code.co_varnames[code.co_kwonlyargcount])
        return arguments[0] if arguments else None
    return None


def is_callback_of_collection(frame: FrameType, gc_callbacks: set[CodeType]) -> bool:
    """Whether a frame was entered by the collector: a finalizer, a weakref callback, a GC callback."""
    code = frame.f_code
    if code.co_name == "__del__" or code in gc_callbacks:
        return True
    return code.co_argcount >= 1 and isinstance(first_argument(frame), weakref.ReferenceType)
