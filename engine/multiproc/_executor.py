"""The executor with worker processes: it is constructed whole or not at all, and shut down to the last name.

Upstream's ``_init_executor`` ends its workers when it fails; the shared memory of its queues (240 MiB each),
its sockets, pipes and the handler that it has left for the end of the process stay.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable
from itertools import starmap
from types import MethodType
from typing import Any

from engine import lifeline
from engine._process_state import ProcessState
from engine._rebound import globals_of, rebound
from engine._signals import held
from engine._startup import Cause, ExecutorError
from engine._transaction import OwnershipTransaction, transactional
from engine.multiproc._context import Recording
from engine.multiproc._handles import Workers
from engine.multiproc._ports import HeldPorts
from engine.multiproc._queues import give_back_queue

VARIABLES = ("VLLM_WORKER_MULTIPROC_METHOD", "OMP_NUM_THREADS", "VLLM_OMP_NUM_THREADS_SET_BY_VLLM")

_SET_UP = "_set_up_for_workers"


class _SetUp:
    """What a constructed executor has to give back beyond upstream's own ``shutdown``."""

    def __init__(self, workers: Workers) -> None:
        self.workers = workers
        self.queues: list[Any] = []
        # Of the same thread again: by a handler, or by the monitor, which shuts down when a worker has died.
        self.lock = threading.RLock()
        self.begun = False
        self.failure: Cause | None = None
        """Which worker has died, once that is known."""

    def give_back(self, shutdown: Callable[[], None]) -> None:
        """Once: upstream's shutdown, then what that leaves."""
        if self.begun:
            return
        self.begun = True
        with contextlib.ExitStack() as steps:
            steps.callback(self.give_back_queues)
            steps.callback(self.workers.give_back)
            steps.callback(shutdown)

    def give_back_queues(self) -> None:
        failures: list[Exception] = []
        while self.queues:
            try:
                give_back_queue(self.queues.pop())
            except Exception as error:
                failures.append(error.with_traceback(None))
        if failures:
            raise ExceptionGroup("message queues", failures)


def hardened_init_executor(
    upstream: Callable[[Any], None], monitor: Callable[..., None], options: dict[str, Any]
) -> Callable[[Any], None]:
    """``MultiprocExecutor._init_executor`` as a transaction.

    Args:
        upstream: vLLM's own.
        monitor: vLLM's ``start_worker_monitor``.
        options: of the `OwnershipTransaction`.
    """

    @transactional("MultiprocExecutor", **options)
    @functools.wraps(upstream)
    def _init_executor(self: Any, transaction: OwnershipTransaction) -> None:
        names = globals_of(upstream)
        workers = Workers(names["WorkerProc"], options["grace"], options)
        set_up = _SetUp(workers)
        transaction.own("process state", ProcessState(VARIABLES), release="restore")
        transaction.own("handler for the end of the process", self, release=_detach)
        transaction.own("message queues", set_up, release="give_back_queues")
        rendezvous: list[str] = []
        # The workers remove it as they end, before the queues go; so does a rollback.
        transaction.own("rendezvous", rendezvous, release=_remove)
        ports = transaction.own("ports", HeldPorts(names["get_open_port"]), release="close")
        transaction.own("workers", workers, release="give_back")
        transaction.own("monitor", self, release=_tell_the_monitor)

        def rendezvous_file() -> str:
            rendezvous.append(names["get_file_store_init_method"]())
            _make_file(rendezvous[0])
            return rendezvous[0]

        def queue(*args: Any, **kwargs: Any) -> Any:
            # No interrupt comes between the return and the record, as in `OwnershipTransaction.acquire`.
            set_up.queues.extend(starmap(functools.partial(names["MessageQueue"], **kwargs), (args,)))
            workers.watch(set_up.queues[-1])
            return set_up.queues[-1]

        if getattr(type(self), "start_worker_monitor", None) is monitor:
            self.start_worker_monitor = MethodType(rebound(monitor, Thread=workers.thread), self)
        self._ensure_worker_termination = workers.end_all
        try:
            rebound(
                upstream,
                MessageQueue=queue,
                WorkerProc=workers.standin(),
                get_mp_context=lambda: Recording(names["get_mp_context"](), transaction),
                get_file_store_init_method=rendezvous_file,
                get_open_port=ports.get,
            )(self)
        finally:
            # Whoever is to listen does so by now.
            ports.close()
            workers.unwatch()
            for name in ("start_worker_monitor", "_ensure_worker_termination"):
                vars(self).pop(name, None)
        vars(self)[_SET_UP] = set_up

    return _init_executor


def hardened_shutdown(upstream: Callable[[Any], None]) -> Callable[[Any], None]:
    """``MultiprocExecutor.shutdown``, once however many threads ask, and with the memory of its queues.

    Args:
        upstream: vLLM's own.
    """

    @functools.wraps(upstream)
    def shutdown(self: Any) -> None:
        set_up = vars(self).get(_SET_UP)
        if set_up is None:
            upstream(self)
            return
        if not set_up.workers.are_watched_by_this_thread:
            end(self, set_up)
        elif set_up.lock.acquire(blocking=False):
            # Whoever shuts down waits for the monitor, which must not wait for that one.
            try:
                end(self, set_up)
            finally:
                set_up.lock.release()

    def end(executor: Any, set_up: _SetUp) -> None:
        # A second Ctrl-C neither cuts it short nor begins it again.
        with set_up.lock, held():
            # Before the others are ended, too.
            if set_up.failure is None:
                set_up.failure = failure_of(executor)
                if set_up.failure is not None:
                    set_up.workers.teller.worker_died(set_up.failure)
            set_up.give_back(functools.partial(upstream, executor))
            _detach(executor)

    return shutdown


def hardened_rpc(upstream: Callable[..., Any]) -> Callable[..., Any]:
    """``MultiprocExecutor.collective_rpc``, which says of a failed executor which worker died, and how.

    Args:
        upstream: vLLM's own.
    """

    @functools.wraps(upstream)
    def collective_rpc(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return upstream(self, *args, **kwargs)
        except Exception as error:
            cause = failure_of(self)
            if cause is None:
                raise
            raise ExecutorError(cause) from error

    return collective_rpc


def failure_of(executor: Any) -> Cause | None:
    """Which worker of a multi-process executor has died by itself, and how; None if none has."""
    set_up: _SetUp | None = getattr(executor, "__dict__", {}).get(_SET_UP)
    if set_up is None or not getattr(executor, "is_failed", False):
        return None
    return set_up.failure or set_up.workers.waiting.first_end(early=False)


def _detach(executor: Any) -> None:
    """Take back the handler for the end of the process, which keeps the executor alive until then."""
    finalizer = vars(executor).get("_finalizer")
    if finalizer is not None:
        finalizer.detach()


def _tell_the_monitor(executor: Any) -> None:
    """Workers that end from here on are no news to the thread that watches them."""
    executor.shutting_down = True


def _make_file(address: str) -> None:
    """Make the file that the workers meet at, empty, so that it goes if this process dies."""
    path = address.removeprefix("file://")
    if path != address:
        with open(path, "xb"):
            pass
        with contextlib.suppress(OSError, lifeline.LifelineError):
            lifeline.own_name("file", path)


def _remove(rendezvous: list[str]) -> None:
    for address in rendezvous:
        path = address.removeprefix("file://")
        if path != address and os.path.exists(path):
            os.unlink(path)
