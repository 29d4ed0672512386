"""Reading ``/proc`` at the lowest cost, and what multiprocessing runs for itself."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple


def needs_proc() -> str | None:
    """Why a probe of ``/proc`` cannot look here, or ``None``."""
    return None if os.path.isdir("/proc/self/task") else "needs Linux's /proc"


def needs_shm() -> str | None:
    """Why a probe of ``/dev/shm`` cannot look here, or ``None``."""
    return None if os.path.isdir("/dev/shm") else "needs /dev/shm"


def read(path: str, size: int = 65536) -> bytes:
    """The whole of a file of ``/proc``; ``open()`` costs three times as much.

    Raises:
        OSError: as ``os.open`` and ``os.read`` do, so ``ProcessLookupError`` where the process ended.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = os.read(descriptor, size)
        if not text:
            return text
        parts = [text]
        while text := os.read(descriptor, size):
            parts.append(text)
        return b"".join(parts)
    finally:
        os.close(descriptor)


class Stat(NamedTuple):
    """What identifies a process or a thread: a number comes back, with its start time it does not."""

    command: str
    state: str
    start: str
    """Clock ticks from boot to start."""


def stat(path: str) -> Stat:
    """Parses a ``stat`` file of a process or a thread.

    The command stands in parentheses and may itself hold spaces and parentheses (see ``proc(5)``).
    """
    text = read(path).decode(errors="replace")
    opening, closing = text.index("("), text.rindex(")")
    fields = text[closing + 2 :].split()
    return Stat(text[opening + 1 : closing], fields[0], fields[19])


class Machinery(NamedTuple):
    """What multiprocessing keeps for itself, once a process; nobody's to give back."""

    processes: frozenset[int]
    descriptors: frozenset[int]
    directory: str


_NOTHING = Machinery(frozenset(), frozenset(), "")


def machinery() -> Machinery:
    """The resource tracker, the fork server, their descriptors, multiprocessing's own directory.

    Read from modules that are loaded already, without their locks: the attributes hold an ``int`` or
    ``None`` at any moment.
    """
    process = sys.modules.get("multiprocessing.process")
    if process is None:
        return _NOTHING
    processes: list[object] = []
    descriptors: list[object] = []
    tracker = getattr(sys.modules.get("multiprocessing.resource_tracker"), "_resource_tracker", None)
    if tracker is not None:
        processes.append(getattr(tracker, "_pid", None))
        descriptors.append(getattr(tracker, "_fd", None))
    server = getattr(sys.modules.get("multiprocessing.forkserver"), "_forkserver", None)
    if server is not None:
        processes.append(getattr(server, "_forkserver_pid", None))
        descriptors.append(getattr(server, "_forkserver_alive_fd", None))
    config = getattr(getattr(process, "_current_process", None), "_config", None)
    directory = config.get("tempdir") if isinstance(config, dict) else None
    return Machinery(
        frozenset(p for p in processes if isinstance(p, int)),
        frozenset(d for d in descriptors if isinstance(d, int)),
        directory if isinstance(directory, str) else "",
    )
