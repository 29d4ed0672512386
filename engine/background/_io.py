"""The sockets and threads by which an engine's process talks, and how they end with a start that fails.

Upstream's end with the process: its threads wait for messages for ever, and nobody can tell them to stop.
"""

from __future__ import annotations

import threading
from types import MethodType
from typing import Any

from engine._rebound import rebound
from engine._standin import Standin


class Handshake:
    """The context by which one construction shakes hands; upstream's ends when nobody refers to it any more.

    Args:
        process: that is constructed.
        names: the global names of its constructor.
    """

    def __init__(self, process: Any, names: dict[str, Any]) -> None:
        self._zmq: Any = names["zmq"]
        self._made: list[Any] = []
        self.perform = MethodType(
            rebound(type(process)._perform_handshakes, zmq=Standin(self._zmq, Context=self._context)), process
        )
        """Stands for ``_perform_handshakes``."""

    def close(self) -> None:
        """Terminate it, after its last message has gone or has had its time."""
        while self._made:
            self._made.pop().term()

    def _context(self) -> Any:
        self._made.append(self._zmq.Context())
        return self._made[-1]


class Threads:
    """The threads that one construction has started, and the contexts of their sockets.

    Args:
        process: that is constructed.
        names: the global names of its constructor.
    """

    def __init__(self, process: Any, names: dict[str, Any]) -> None:
        self._process = process
        self._zmq: Any = names["zmq"]
        self._contexts: list[_Context] = []
        self._threads: list[threading.Thread] = []
        self.stopping = False
        self._lock = threading.Lock()

    def threading(self) -> Standin:
        """Stands for the module where the threads are made."""
        return Standin(threading, Thread=self._thread)

    def stop(self) -> None:
        """End the threads, and close what they had opened."""
        with self._lock:
            self.stopping = True
        # Neither an output nor the word that ends the thread, which would be sent on: it fails by it.
        outputs = vars(self._process).get("output_queue")
        if outputs is not None:
            outputs.put_nowait(b"")
        while self._contexts:
            # Whoever waits at one of its sockets leaves, and closes them.
            self._contexts.pop().real.term()
        while self._threads:
            thread = self._threads.pop()
            if thread.ident is not None:
                thread.join()

    def leaves(self, context: _Context) -> bool:
        """Whether the block of that context is to terminate it: `stop` does, once it has begun."""
        with self._lock:
            if not self.stopping:
                self._contexts.remove(context)
            return not self.stopping

    def _thread(self, target: Any, **kwargs: Any) -> Any:
        function = rebound(target, zmq=Standin(self._zmq, Context=self._context))

        def run(*arguments: Any) -> None:
            try:
                function(target.__self__, *arguments)
            except Exception:
                if not self.stopping:
                    raise

        thread = threading.Thread(target=run, **kwargs)
        self._threads.append(thread)
        return thread

    def _context(self) -> Any:
        made = _Context(self._zmq.Context(), self)
        self._contexts.append(made)
        return made


class _Context:
    """A context of zmq as a block, whose end terminates it unless `Threads.stop` does: only one may."""

    def __init__(self, real: Any, threads: Threads) -> None:
        self.real = real
        self._threads = threads

    def __enter__(self) -> Any:
        return self.real

    def __exit__(self, *failure: object) -> None:
        if self._threads.leaves(self):
            # Closes the sockets too, which are this thread's, and whose own blocks end after this one.
            self.real.__exit__(*failure)
