"""The end of a client whose start has failed: all that it has is given back before the exception leaves.

Upstream's leaves the context of its sockets, and the descriptors by which it watches its engines' processes,
until the client is collected; and an asynchronous one has its sockets closed by its loop, which goes on only
after that.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from engine._rebound import globals_of, rebound
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
    with contextlib.ExitStack() as steps:
        steps.callback(_give_back, client, resources)
        finalizer = vars(client).get("_finalizer")
        if finalizer is not None and finalizer.alive:
            client.shutdown()


def cleanup_of(upstream: Callable[[Any], None], resources: Any) -> Callable[[Any], None]:
    """``BackgroundResources.__call__`` for these: where the start has failed, it closes the sockets here."""
    if not vars(resources).get(_FAILED) or "in_loop" not in globals_of(upstream):
        return upstream
    return rebound(upstream, in_loop=lambda loop: True)


def remember_monitor(client: Any, thread: threading.Thread) -> None:
    """Have `end_for_good` wait for a thread that looks at the engines' processes."""
    vars(client).setdefault(_MONITORS, []).append(thread)


def _give_back(client: Any, resources: Any) -> None:
    threads = [*vars(client).get(_MONITORS, ()), vars(client).get("output_queue_thread")]
    if not all([_ended(one) for one in threads]):
        # Whatever it looks at stays.
        return
    resources.ctx.destroy(linger=0)
    for process in getattr(resources.engine_manager, "processes", ()):
        with contextlib.suppress(ValueError):  # it is closed
            close_process(process)


def _ended(thread: threading.Thread | None) -> bool:
    if thread is None or thread.ident is None:
        return True
    if thread.ident == threading.get_ident():
        return False
    thread.join(_SOON)
    return not thread.is_alive()
