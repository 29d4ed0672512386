"""The engine's process: SIGTERM and SIGINT end its start at once, and its launcher is told why it failed.

`run_engine_core` is what a hardened launcher starts in place of ``EngineCoreProc.run_engine_core``. Where
processes are spawned it is found by its name, so that the new process is hardened too.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from engine._core import CONSTRUCTED
from engine._lost import raise_again
from engine._rebound import globals_of, rebound
from engine._startup import Cause, ExecutorError, Teller, teller, telling
from engine._transaction import OwnershipTransaction, transactional
from engine.background._io import Handshake, Threads
from engine.multiproc._executor import failure_of

_logger = logging.getLogger("engine")

PIPE = "startup_pipe"
"""The argument by which a launcher passes the pipe for what goes wrong."""


def run_engine_core(*args: Any, **kwargs: Any) -> None:
    """Runs vLLM's own, in which a signal during the construction rolls it back and ends the process."""
    from engine._harden import harden, original

    pipe = kwargs.pop(PIPE, None)
    if not harden():
        # This process finds another vLLM than its parent did.
        from vllm.v1.engine.core import EngineCoreProc

        EngineCoreProc.run_engine_core(*args, **kwargs)
        return
    upstream = original("vllm.v1.engine.core:EngineCoreProc.run_engine_core")
    rank = kwargs.get("dp_rank", 0)
    start = _Start(pipe, "engine" if rank == 0 else f"engine[{rank}]")
    raise_again(start.lost)
    names = globals_of(upstream)
    kinds = {name: start.of(names[name]) for name in ("EngineCoreProc", "DPEngineCoreProc") if name in names}
    # Up to 0.30 vLLM sets its own only once the engine is constructed.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, start.handler(start.note))
    try:
        rebound(upstream, signal=_Signals(start), **kinds)(*args, **kwargs)
    except BaseException as error:
        start.tell(error)
        raise


CLEAN_UP = 60.0
"""Seconds in which an engine that ends has given back all it had. Its launcher waits for five."""


def _give_up() -> None:
    _logger.error(
        "the engine's clean-up has not ended within %g s: its process ends now, and all it had started",
        CLEAN_UP,
    )
    os._exit(1)


class _Start:
    """How far the engine's start has come, as its signal handlers have to know."""

    def __init__(self, pipe: Any, role: str) -> None:
        self.engine: Any = None
        """Once it is constructed."""
        self.teller = Teller(pipe, role, self.worker_died)
        telling(self.teller)
        self.asked = 0
        self.noted = 0
        self.stopped = 0
        """The signal that asked the engine to end once it was constructed."""

    def of(self, kind: Any) -> Callable[..., Any]:
        """What constructs an engine of that kind."""

        def construct(*args: Any, **kwargs: Any) -> Any:
            made = kind(*args, **kwargs)
            self.engine = made
            send = made._send_engine_dead

            def send_engine_dead() -> None:
                # First, so that whoever hears that the engine is dead can tell why.
                error = sys.exception()
                if error is not None:
                    self.tell(error)
                send()

            made._send_engine_dead = send_engine_dead
            if self.asked:
                # What the handler raised was swallowed by somebody.
                self.stopped = self.asked
                made.shutdown()
                raise SystemExit(128 + self.asked)
            return made

        return construct

    def note(self, number: int, frame: FrameType | None) -> None:
        """The handler between the end of a construction and that of vLLM's own."""
        self.noted = number

    def handler(self, upstream: Callable[[int, FrameType | None], object]) -> Callable[..., None]:
        """Upstream's handler once the engine is constructed; that notes it was asked, and goes on."""

        def handle(number: int, frame: FrameType | None) -> None:
            if self.engine is not None:
                self.stopped = self.stopped or number
                upstream(number, frame)
            elif not self.asked:
                # A second one neither cuts the clean-up short nor begins it again.
                self.asked = number
                raise SystemExit(128 + number)

        return handle

    def lost(self) -> int:
        """What the handler raised came out nowhere: the signal by which it is to be asked again."""
        number, self.asked = self.asked, 0
        return number if self.engine is None else 0

    @functools.cached_property
    def cleaning(self) -> Callable[[int, FrameType | None], None]:
        """The handler while the process cleans up, which is what it was asked to do: nothing.

        The clean-up has its time from here on, since no signal ends it any more.
        """
        watching = threading.Timer(CLEAN_UP, _give_up)
        watching.daemon = True
        # Where no thread is to be had, the clean-up goes on all the same.
        with contextlib.suppress(RuntimeError):
            watching.start()
        return lambda number, frame: None

    def tell(self, error: BaseException) -> None:
        """Tell the launcher, or the client that it has become, why this process ends."""
        if self.engine is None:
            self.teller.failed(error)
        elif not isinstance(error, SystemExit):
            # Upstream's own words are "Executor failed.".
            cause = failure_of(self.engine.model_executor)
            self.teller.failed(error if cause is None else ExecutorError(cause))
        elif self.stopped:
            # It ends in order, with status 0. Whoever did not ask for that is to hear who did.
            self.teller.ended_by(self.stopped)

    def worker_died(self, cause: Cause) -> None:
        """End a construction that goes on, as SIGTERM does: it may be long until it asks a worker again."""
        if self.engine is None:
            self.teller.failed(ExecutorError(cause))
            os.kill(os.getpid(), signal.SIGTERM)


class _Signals:
    """Stands for the module ``signal`` where vLLM sets its handlers."""

    def __init__(self, start: _Start) -> None:
        self._start = start

    def signal(self, number: int, handler: Any) -> Any:
        if callable(handler):
            handler = self._start.handler(handler)
        elif handler is signal.SIG_DFL:
            # Upstream's clean-up begins so, and would be cut short by a second signal.
            handler = self._start.cleaning
        before = signal.signal(number, handler)
        if self._start.noted == number and self._start.engine is not None:
            self._start.noted = 0
            os.kill(os.getpid(), number)
        return before

    def __getattr__(self, name: str) -> Any:
        return getattr(signal, name)


def hardened_process_init(upstream: Callable[..., None], options: dict[str, Any]) -> Callable[..., None]:
    """``EngineCoreProc.__init__`` as a transaction: a failure after the engine core's construction ends that.

    Args:
        upstream: vLLM's own.
        options: of the `OwnershipTransaction`.
    """

    @transactional("EngineCoreProc", **options)
    @functools.wraps(upstream)
    def __init__(self: Any, transaction: OwnershipTransaction, *args: Any, **kwargs: Any) -> None:
        names = globals_of(upstream)
        handshake = transaction.own("handshake", Handshake(self, names), release="close")
        transaction.own("engine core", self, release=_shut_down)
        threads = transaction.own("threads", Threads(self, names), release="stop")
        self._perform_handshakes = handshake.perform
        try:
            rebound(upstream, threading=threads.threading())(self, *args, **kwargs)
            handshake.close()
            cause = failure_of(self.model_executor)
            if cause is not None:
                # Nothing has asked the executor for anything since.
                raise ExecutorError(cause)
        except BaseException as error:
            # Before anything is given back, which takes time in which the launcher would wait.
            teller().failed(error)
            raise
        finally:
            del self._perform_handshakes

    return __init__


def _shut_down(process: Any) -> None:
    """Upstream's own shutdown, if the engine core was constructed; one that was not has rolled back."""
    if vars(process).get(CONSTRUCTED):
        process.shutdown()
