"""The end of a client whose start has failed: all that it has is given back before the exception leaves.

Upstream's leaves the context of its sockets, and the descriptors by which it watches its engines' processes,
until the client is collected; and an asynchronous one has its sockets closed by its loop, which goes on only
after that.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable
from typing import Any

from engine._rebound import globals_of, rebound
from engine.background._told import told_to
from engine.multiproc._context import close_process

_FAILED = "_start_has_failed"
_MONITORS = "_threads_that_watch_the_engines"
_SOON = 2.0
"""Seconds for a thread to end that has been told to."""


def end_for_good(client: Any) -> None:
    """Shut a client down, if that has not been done, and give back what it would keep until it is collected.

    To be called while the thread of its loop, if it has one, waits.
    """
    resources = vars(client).get("resources")
    if resources is None:
        return
    vars(resources)[_FAILED] = True
    monitors = vars(client).get(_MONITORS, ())
    with contextlib.ExitStack() as steps:
        steps.callback(_end_context, resources, vars(client).get("output_queue_thread"))
        finalizer = vars(client).get("_finalizer")
        if finalizer is not None and finalizer.alive:
            steps.callback(client.shutdown)
        # First, as in its own shutdown: what the engines' processes were watched by goes with them.
        steps.callback(end_engines, resources, monitors)


def end_engines(resources: Any, monitors: Iterable[threading.Thread] = ()) -> None:
    """End the processes of the engines, and close what they were watched by.

    Args:
        resources: of the client.
        monitors: threads that watch them.
    """
    manager = resources.engine_manager
    if told_to(manager) is None:
        return
    # What watches them need not shut the client down in its turn.
    resources.engine_dead = True
    manager.shutdown()
    if all([_ended(one) for one in monitors]):
        for process in manager.processes:
            with contextlib.suppress(ValueError):  # it is closed
                close_process(process)


def cleanup_of(upstream: Callable[[Any], None], resources: Any) -> Callable[[Any], None]:
    """``BackgroundResources.__call__`` for these: where the start has failed, it closes the sockets here."""
    if not vars(resources).get(_FAILED) or "in_loop" not in globals_of(upstream):
        return upstream
    return rebound(upstream, in_loop=lambda loop: True)


def remember_monitor(client: Any, thread: threading.Thread) -> None:
    """Have `end_for_good` wait for a thread that looks at the engines' processes."""
    vars(client).setdefault(_MONITORS, []).append(thread)


def _end_context(resources: Any, reader: threading.Thread | None) -> None:
    # Not beside a thread that still reads.
    if _ended(reader):
        resources.ctx.destroy(linger=0)


def _ended(thread: threading.Thread | None) -> bool:
    if thread is None or thread.ident is None:
        return True
    if thread.ident == threading.get_ident():
        return False
    thread.join(_SOON)
    return not thread.is_alive()
