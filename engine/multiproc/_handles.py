"""The workers of a multi-process executor, as their parent has them: pipes, processes, queues."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from itertools import starmap
from multiprocessing.connection import Connection
from typing import Any

from engine._processes import stop_processes
from engine._rebound import globals_of, rebound
from engine._standin import Standin
from engine._startup import Cause, StartupError, cause_in, first_of, teller
from engine._transaction import OwnershipTransaction, transactional
from engine.multiproc._context import Recording, close_process
from engine.multiproc._queues import give_back_queue, remove_names
from engine.multiproc._waiting import Waiting
from engine.multiproc._worker import role_of


class Workers:
    """What one executor has started, from the moment at which it is started.

    Args:
        kind: vLLM's ``WorkerProc``.
        grace: seconds between SIGTERM and SIGKILL.
        options: of the transactions in which each worker process is made.
    """

    def __init__(self, kind: Any, grace: float, options: dict[str, Any]) -> None:
        self._kind = kind
        self._grace = grace
        self._options = options
        self._started: list[Any] = []
        self._ready: list[Any] = []
        self._queues: list[Any] = []
        self._monitors: list[Any] = []
        self._watched: list[Any] = []
        self.teller = teller()
        """Of the process that constructs; a thread has none of its own."""
        self.waiting = Waiting(lambda: self._started, role_of)
        """For those that have been started."""

    # ---- what the executor's construction calls ----

    def standin(self) -> Standin:
        """Stands for ``WorkerProc`` in the executor's construction."""
        return Standin(self._kind, make_worker_process=self._make, wait_for_ready=self._wait_for_ready)

    def thread(self, *args: Any, **kwargs: Any) -> Any:
        """Stands for ``threading.Thread`` where the monitor of the workers is started."""
        monitor = threading.Thread(*args, **kwargs)
        self._monitors.append(monitor)
        return monitor

    @property
    def are_watched_by_this_thread(self) -> bool:
        """Whether this is the thread of their monitor."""
        return any(one.ident == threading.get_ident() for one in self._monitors)

    def _make(self, **kwargs: Any) -> Any:
        start = transactional("worker process", **self._options)(_start)
        # No interrupt comes between the return and the record, as in `OwnershipTransaction.acquire`.
        self._started.extend(starmap(functools.partial(start, **kwargs), ((self._kind,),)))
        handle = self._started[-1]
        pipe = handle.ready_pipe
        pipe.worker = handle
        # The same object, so that its descriptor never has two owners or none.
        pipe.__class__ = _ReadyPipe
        self.teller.worker(role_of(handle.rank), handle.proc.pid, ready=False)
        return handle

    def _wait_for_ready(self, unready: list[Any]) -> Any:
        def receive(*args: Any, **kwargs: Any) -> Any:
            call = self._kind.wait_for_response_handle_ready
            self._ready.extend(starmap(functools.partial(call, **kwargs), (args,)))
            ready = self._ready[-1]
            # Upstream's shutdown drops them.
            queues = (ready.worker_response_mq, *ready.peer_worker_response_mqs)
            for one in queues:
                if one is not None:
                    self._queues.append(one)
                    self.watch(one)
            self.teller.worker(role_of(ready.rank), ready.proc.pid, ready=True)
            return ready

        standin = Standin(self._kind, wait_for_response_handle_ready=receive)
        try:
            waited = rebound(
                self._kind.wait_for_ready, WorkerProc=standin, multiprocessing=self.waiting.multiprocessing()
            )
            return waited(unready)
        except StartupError as error:
            # Several may have been heard at once: a worker fails because another has.
            first = first_of([error.cause, *_causes(unready)])
            if first is None or first is error.cause:
                raise
            raise StartupError(first) from None

    def watch(self, queue: Any) -> None:
        """Until `unwatch`, a wait for the other end of `queue` is ended by a worker that dies."""
        queue.wait_until_ready = functools.partial(self.waiting.until_ready, queue)
        self._watched.append(queue)

    def unwatch(self) -> None:
        """The executor is constructed, or is not going to be."""
        while self._watched:
            vars(self._watched.pop()).pop("wait_until_ready", None)

    # ---- how it is given back ----

    def end_all(self, processes: Any = None) -> None:
        """End the worker processes for certain. Stands for ``_ensure_worker_termination`` in a rollback."""
        stop_processes([one.proc for one in self._started], self._grace)

    def give_back(self) -> None:
        """End the processes, then the monitor that watched them, then close what led to them."""
        for handle in (*self._started, *self._ready):
            if handle.death_writer is not None:
                handle.death_writer.close()
                handle.death_writer = None
        self.end_all()
        for monitor in self._monitors:
            # One that was never started has no end to wait for; and it may be the one that asks.
            if monitor.ident not in (None, threading.get_ident()):
                monitor.join(self._grace)
        failures: list[Exception] = []
        for step in self._last_steps():
            try:
                step()
            except Exception as error:
                failures.append(error.with_traceback(None))
        self._started.clear()
        self._ready.clear()
        self._queues.clear()
        self._monitors.clear()
        if failures:
            raise ExceptionGroup("workers", failures)

    def _last_steps(self) -> list[Callable[[], object]]:
        steps: list[Callable[[], object]] = []
        for queue in self._queues:
            # Made by the worker, which may have been killed.
            steps += [functools.partial(remove_names, queue), functools.partial(give_back_queue, queue)]
        for handle in self._started:
            steps += [handle.ready_pipe.close, functools.partial(close_process, handle.proc)]
        return steps


def _start(kind: Any, transaction: OwnershipTransaction, /, **kwargs: Any) -> Any:
    """``WorkerProc.make_worker_process``, which leaves four ends of pipes where no process can be started."""
    upstream = kind.make_worker_process
    making = Recording(globals_of(upstream)["get_mp_context"](), transaction)
    return rebound(upstream, get_mp_context=lambda: making)(**kwargs)


def _causes(unready: list[Any]) -> Iterator[Cause]:
    """What the workers that have not been heard yet have said by now."""
    for handle in unready:
        try:
            if not handle.ready_pipe.closed and handle.ready_pipe.poll(0):
                handle.ready_pipe.recv()
        except StartupError as error:
            yield error.cause


class _ReadyPipe(Connection):
    """The pipe on which a worker says that it is ready; reads why it is not as an exception.

    Upstream's own words for that are "see stack trace for root cause", whatever the cause.
    """

    worker: Any
    """The handle that this is the pipe of."""

    def recv(self) -> Any:
        process, role = self.worker.proc, role_of(self.worker.rank)
        try:
            said = super().recv()
        except EOFError:
            # It is on its way out: its status tells more than the closed pipe.
            process.join(_STATUS_COMES)
            raise StartupError(Cause.of_end(role, process.pid, process.exitcode)) from None
        cause = cause_in(said)
        if cause is not None:
            raise StartupError(cause)
        return said


_STATUS_COMES = 2.0
"""Seconds in which a process ends that has closed the pipe it had to be ready on."""
