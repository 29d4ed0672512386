"""Ending processes: asked, terminated, killed, reaped."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Iterable
from typing import Any

_INTERVAL = 0.01
"""Seconds between two looks at processes that are to end."""


def stop_processes(processes: Iterable[Any], grace: float = 2.0) -> tuple[int, ...]:
    """End `processes` for certain, and reap those that are this process's children.

    Each is sent SIGTERM, and SIGCONT if it is stopped, since it would not hear of the former; what is left
    after `grace` is sent SIGKILL, and then waited for. A process is addressed by pid and start time, so that
    a pid which the kernel gave away again is left alone.

    Args:
        processes: `multiprocessing.Process`, `subprocess.Popen` or anything with a ``pid``; those that were
            never started are passed over.
        grace: seconds between SIGTERM and SIGKILL, and again for the end after it.

    Returns:
        The pids of those that outlived even that: stuck in the kernel, as in a driver's call.
    """
    import psutil

    living: list[tuple[Any, Any]] = []
    for process in processes:
        if not getattr(process, "pid", None):
            continue
        with contextlib.suppress(psutil.NoSuchProcess):
            living.append((process, psutil.Process(process.pid)))
    for _, known in living:
        _tried(known.terminate)
        _tried(functools.partial(_let_go_on, known))
    living = _wait(living, grace)
    for _, known in living:
        _tried(known.kill)
    living = _wait(living, grace)
    return tuple(known.pid for _, known in living)


def _let_go_on(known: Any) -> None:
    import psutil

    if known.status() == psutil.STATUS_STOPPED:
        known.resume()


def _wait(living: list[tuple[Any, Any]], seconds: float) -> list[tuple[Any, Any]]:
    """Reap for at most `seconds`; what lives on."""
    end = time.monotonic() + seconds
    while True:
        living = [(process, known) for process, known in living if not _has_ended(process, known)]
        if not living or time.monotonic() >= end:
            return living
        time.sleep(_INTERVAL)


def _has_ended(process: Any, known: Any) -> bool:
    import psutil

    # Looked at first and reaped after: one that ends between the two is seen at the next look.
    try:
        if not known.is_running():
            gone = True
        elif known.status() == psutil.STATUS_ZOMBIE:
            # So is one whose first thread alone has ended: the kernel lets its parent reap it once all have.
            gone = known.ppid() != os.getpid()
        else:
            return False
    except psutil.NoSuchProcess:
        gone = True
    # Its own object reaps it, and learns its status. If another did, a `multiprocessing.Process` would count
    # as alive for ever (``multiprocessing.popen_fork.Popen.poll``), and a `subprocess.Popen` as a success.
    poll = getattr(process, "poll", None) or getattr(process, "is_alive", None)
    _tried(poll or (lambda: known.wait(0)))
    return gone or not _exists(known)


def _exists(known: Any) -> bool:
    """Whether the kernel still has it, as a zombie too."""
    import psutil

    try:
        return bool(known.is_running() and known.ppid() == os.getpid())
    except psutil.NoSuchProcess:
        return False


def _tried(call: Any) -> None:
    """`call`, unless the process is gone, or not ours any more."""
    import psutil

    gone = (psutil.Error, ProcessLookupError, ChildProcessError, ValueError, AssertionError)
    with contextlib.suppress(*gone):
        call()
