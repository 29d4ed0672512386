"""The sockets and threads by which an engine's process talks, and how they end with a start that fails.

Upstream's end with the process: its threads wait for messages for ever, and nobody can tell them to stop.
"""

from __future__ import annotations

import threading
from types import MethodType
from typing import Any

from engine._rebound import globals_of, rebound
from engine._standin import Standin


class EngineIo:
    """What one construction of an ``EngineCoreProc`` has opened.

    Args:
        process: that is constructed.
        kind: vLLM's class, whose names are rebound.
    """

    def __init__(self, process: Any, kind: Any) -> None:
        self._process = process
        self._zmq: Any = globals_of(kind.__init__)["zmq"]
        self._contexts: list[_Context] = []
        self._threads: list[threading.Thread] = []
        self._handshakes = kind._perform_handshakes
        self.stopping = False
        self._lock = threading.Lock()

    def handshakes(self) -> Any:
        """Stands for ``_perform_handshakes``, whose context is never terminated."""
        return MethodType(rebound(self._handshakes, zmq=self._recording()), self._process)

    def threading(self) -> Standin:
        """Stands for the module where the threads are made."""
        return Standin(threading, Thread=self._thread)

    def stop(self) -> None:
        """End the threads, and close what they and the handshake had opened."""
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
        function = rebound(target, zmq=self._recording())

        def run(*arguments: Any) -> None:
            try:
                function(target.__self__, *arguments)
            except Exception:
                if not self.stopping:
                    raise

        thread = threading.Thread(target=run, **kwargs)
        self._threads.append(thread)
        return thread

    def _recording(self) -> Standin:
        return Standin(self._zmq, Context=self._context)

    def _context(self) -> Any:
        made = _Context(self._zmq.Context(), self)
        self._contexts.append(made)
        return made


class _Context:
    """A context of zmq as a block, whose end terminates it unless `EngineIo.stop` does: only one may."""

    def __init__(self, real: Any, io: EngineIo) -> None:
        self.real = real
        self._io = io

    def __enter__(self) -> Any:
        return self.real

    def __exit__(self, *failure: object) -> None:
        if self._io.leaves(self):
            self.real.term()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)
