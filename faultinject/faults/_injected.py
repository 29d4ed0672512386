"""The exception that is raised at a fault point.

It is an instance of a class of its own, made from the real one and a mark, so that the target's
handlers treat it as the real thing while the oracle can tell it from a genuine failure. Recognition is
by identity and by this mark, never by the message.
"""

from __future__ import annotations

import functools
import os
import signal
import threading
import types
from typing import Any

from faultinject.errors import UsageError
from faultinject.faults._classes import class_of
from faultinject.faults._spec import FaultSpec


class InjectedFault:
    """The mark of every injected exception; mixed into a subclass of the real class."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        # The class was made at run time, so pickle could not find it by name; a target that sends the
        # exception from a worker process to its caller must still be able to.
        return (_remake, (type(self).__fault__, self.args), self.__dict__ or None)  # type: ignore[attr-defined]


def is_injected(error: object) -> bool:
    """Whether `error` was injected (by anyone: compare identities to know whether by you)."""
    return isinstance(error, InjectedFault)


def make(spec: FaultSpec, place: str = "") -> BaseException:
    """A fresh exception to raise at a fault point.

    Args:
        spec: an ``exception`` fault.
        place: what the message says of the point, such as ``"before engine.core:Executor"``.

    Raises:
        UsageError: the class cannot be subclassed, or not made from one message.
        ValueError: the fault is a signal, which is sent and not raised.
    """
    if spec.kind == "signal":
        raise ValueError(f"{spec.name} is a signal: it is sent to the process, not raised")
    text = f"injected by faultinject {place}".rstrip()
    marked = marked_class(spec)
    if spec.errno:
        return marked(spec.errno, f"{os.strerror(spec.errno)} ({text})")
    try:
        error = marked(text)
    except Exception as problem:
        raise UsageError(
            f"fault {spec.name!r}: the class cannot be made from one message ({problem}); "
            "give a subclass of it whose __init__ takes only that"
        ) from problem
    if not isinstance(error, marked):
        raise UsageError(
            f"fault {spec.name!r}: making one gives a {type(error).__name__} instead; "
            "give a class without a __new__ of its own"
        )
    return error


@functools.cache
def marked_class(spec: FaultSpec) -> type[BaseException]:
    """The subclass of the real class and the mark, one for each fault in a process.

    Raises:
        UsageError: the real class cannot be subclassed.
    """
    real = class_of(spec.name)
    try:
        made = types.new_class(f"Injected{real.__name__}", (InjectedFault, real))
        made.__module__ = "faultinject.faults"
        made.__doc__ = f"A {real.__qualname__} that faultinject raised on purpose."
        made.__fault__ = spec  # type: ignore[attr-defined]
    except Exception as problem:
        raise UsageError(
            f"fault {spec.name!r}: {real.__qualname__} cannot be subclassed ({problem}); give one that can"
        ) from problem
    return made


def deliver(spec: FaultSpec) -> None:
    """Sends a ``signal`` fault to this process, where its real handler takes it.

    In the main thread the handler has run when this returns, and what it raised comes out of here:
    ``signal.raise_signal`` looks for pending signals itself. From another thread the main one is sent
    it and runs the handler when it next can, since CPython runs handlers nowhere else.

    Raises:
        ValueError: the fault is not a signal.
    """
    number = spec.signal
    if threading.current_thread() is threading.main_thread():
        signal.raise_signal(number)
    else:
        ident = threading.main_thread().ident
        assert ident is not None
        signal.pthread_kill(ident, number)


def _remake(spec: FaultSpec, args: tuple[Any, ...]) -> BaseException:
    return marked_class(spec)(*args)
