"""The client of an engine process: what it gives back when its start fails, and at its shutdown."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from engine._signals import held
from engine._socket_files import file_of, remove_file
from engine.background._launcher import FILES


def hardened_cleanup(upstream: Callable[[Any], None]) -> Callable[[Any], None]:
    """``BackgroundResources.__call__``, with the files of its sockets; a second Ctrl-C does not cut it short.

    Args:
        upstream: vLLM's own.
    """

    @functools.wraps(upstream)
    def __call__(self: Any) -> None:
        files = {path for path in map(_bound_to, (self.input_socket, self.output_socket)) if path}
        # That of a client with a thread is that thread's socket by now.
        files.update(getattr(self.engine_manager, "__dict__", {}).get(FILES, ()))
        with held(), contextlib.ExitStack() as steps:
            for path in files:
                steps.callback(remove_file, path)
            # Without a thread or a task yet that reads: the start has failed.
            if self.shutdown_path is None and self.output_queue_task is None:
                steps.callback(self.ctx.destroy, linger=0)
            steps.callback(upstream, self)

    return __call__


def _bound_to(socket: Any) -> str:
    """The file of a socket that was bound to one, or ``""``."""
    if socket is None or socket.closed:
        return ""
    import zmq

    return file_of(socket.getsockopt(vars(zmq)["LAST_ENDPOINT"]).decode().rstrip("\0"))
