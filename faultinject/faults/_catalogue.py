"""The faults that have a name of their own, and what each stands for."""

from __future__ import annotations

import signal
from typing import Literal

import msgspec

Group = Literal["ordinary", "base", "signal", "own"]

UNHANDLED_SIGNALS = frozenset({"SIGKILL", "SIGSTOP"})
"""Signals that no handler can take: they end or freeze a process instead of failing a call."""


class BaseFault(BaseException):
    """A bare `BaseException` subclass: what no ``except Exception`` and no known name can expect."""


class Entry(msgspec.Struct, frozen=True):
    """One line of ``faultinject faults``.

    Attributes:
        name: what ``--fault`` takes.
        group: ``ordinary`` (an ``except Exception`` sees it), ``base`` (it does not), ``signal``
            (goes through the process's real handler) or ``own`` (a class of the user's).
        summary: when such a fault happens in real life.
        path: where the class is, as ``module:qualname``; empty for signals and patterns.
    """

    name: str
    group: Group
    summary: str
    path: str = ""


CATALOGUE: tuple[Entry, ...] = (
    Entry("RuntimeError", "ordinary", "anything a library gives up on", "builtins:RuntimeError"),
    Entry("OSError:ENOSPC", "ordinary", "no space left on disk, in /dev/shm, or for a semaphore"),
    Entry("OSError:EMFILE", "ordinary", "too many open files"),
    Entry("OSError:ENOMEM", "ordinary", "the kernel refuses memory (mmap, fork)"),
    Entry("OSError:EADDRINUSE", "ordinary", "the port or socket path is taken"),
    Entry("MemoryError", "ordinary", "no memory for an object", "builtins:MemoryError"),
    Entry("TimeoutError", "ordinary", "a peer did not answer in time", "builtins:TimeoutError"),
    Entry("torch.OutOfMemoryError", "ordinary", "no device memory left", "torch:OutOfMemoryError"),
    Entry("AssertionError", "ordinary", "a condition the code took for granted", "builtins:AssertionError"),
    Entry("KeyboardInterrupt", "base", "Ctrl-C", "builtins:KeyboardInterrupt"),
    Entry("SystemExit", "base", "sys.exit() in a handler or a callee", "builtins:SystemExit"),
    Entry("GeneratorExit", "base", "a generator or coroutine closed half-way", "builtins:GeneratorExit"),
    Entry("asyncio.CancelledError", "base", "the task was cancelled", "asyncio:CancelledError"),
    Entry("BaseFault", "base", "a BaseException that nothing names", "faultinject.faults:BaseFault"),
)

NAMED: dict[str, Entry] = {entry.name: entry for entry in CATALOGUE}


def signal_names() -> tuple[str, ...]:
    """Names of the signals that can be injected here."""
    return tuple(s.name for s in signal.Signals if s.name not in UNHANDLED_SIGNALS)


def describe() -> tuple[Entry, ...]:
    """Everything ``--fault`` takes, in the order in which it should be shown."""
    return (
        *CATALOGUE,
        Entry("OSError:NAME", "ordinary", "any errno name, raised as the OSError subclass Python gives it"),
        Entry("SIGINT", "signal", "a real Ctrl-C, through the process's handler"),
        Entry("SIGTERM", "signal", "a real request to stop, through the process's handler"),
        Entry("SIGNAME", "signal", "any other signal that can be handled"),
        Entry("NAME", "own", "any other built-in exception that takes one message"),
        Entry("package.module:Class", "own", "an exception class of your own that takes one message"),
    )
