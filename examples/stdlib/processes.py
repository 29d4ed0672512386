"""Targets that start one process: multiprocessing's Process, its manager, and subprocess's Popen.

Nothing here is wrong by itself; each function builds a standard-library object the way its users
do. What a sweep finds is what the standard library leaves behind when one of its steps fails.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import time
from multiprocessing.managers import SyncManager
from multiprocessing.process import BaseProcess

_LIFETIME_S = 60
"""Far longer than any case: the child must still be alive when the case is judged."""


def forked_process() -> BaseProcess:
    """Start a process by fork (row M06)."""
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(_LIFETIME_S,))
    process.start()
    return process


def spawned_process() -> BaseProcess:
    """Start a process by spawn (row M08); the resource tracker comes with it."""
    process = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(_LIFETIME_S,))
    process.start()
    return process


def end_process(process: BaseProcess) -> None:
    """Kill, reap and close what `forked_process` or `spawned_process` returned."""
    process.kill()
    process.join()
    process.close()


def announce() -> None:
    """Run in the manager's server before it serves; the initializer of row M18."""


def managed() -> SyncManager:
    """Start a manager with an initializer (row M18)."""
    manager = SyncManager(ctx=multiprocessing.get_context("fork"))
    manager.start(announce)
    return manager


def text_pipes() -> subprocess.Popen[str]:
    """Start a program with two text pipes (row M26). The ordinary trigger is an unknown encoding."""
    return subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")


def end_program(program: subprocess.Popen[str]) -> None:
    """Close the pipes of a program and wait for it; ``cat`` ends at end of file."""
    program.communicate()


class Sink:
    """An output that the caller lends (row M24): it has a descriptor, which stays the caller's."""

    def __init__(self) -> None:
        self._descriptor = os.open(os.devnull, os.O_WRONLY)

    def fileno(self) -> int:
        return self._descriptor


_sinks: dict[int, Sink] = {}


def lent_sink() -> Sink:
    """The one sink of this process, made before the target runs."""
    if os.getpid() not in _sinks:
        _sinks[os.getpid()] = Sink()
    return _sinks[os.getpid()]


def into_sink(sink: Sink) -> subprocess.Popen[bytes]:
    """Start a program that writes into a lent sink (row M24)."""
    return subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=sink)  # type: ignore[call-overload,no-any-return]
