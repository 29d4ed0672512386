"""The launcher: a start that fails ends every engine, and tells the first cause.

Upstream's words for a failure are "see root cause above", and engines that had started by the time at which
the next could not be started live on.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from engine._processes import stop_processes
from engine._rebound import globals_of, rebound
from engine._socket_files import expect_file, file_of, own_file, remove_file
from engine._standin import Standin
from engine._startup import StartupError
from engine._transaction import OwnershipTransaction, transactional
from engine.background._process import run_engine_core
from engine.background._told import Told, hear_from, told_to
from engine.multiproc._context import close_process
from engine.multiproc._waiting import ready_timeout

FILES = "_files_of_the_clients_sockets"
"""Where a manager of engine processes has what its client is to remove at its end."""


def hardened_manager_init(upstream: Callable[..., None], options: dict[str, Any]) -> Callable[..., None]:
    """``CoreEngineProcManager.__init__`` as a transaction.

    Args:
        upstream: vLLM's own.
        options: of the `OwnershipTransaction`.
    """

    @transactional("CoreEngineProcManager", **options)
    @functools.wraps(upstream)
    def __init__(self: Any, transaction: OwnershipTransaction, *args: Any, **kwargs: Any) -> None:
        told = Told(ready_timeout())
        transaction.own("pipes", told, release="close")
        transaction.own("engine processes", self, release=_end)
        context = globals_of(upstream)["get_mp_context"]
        rebound(upstream, get_mp_context=lambda: _Context(context(), told))(self, *args, **kwargs)
        told.started()
        if told.processes:
            hear_from(self, told)

    return __init__


def hardened_wait(upstream: Callable[..., Any]) -> Callable[..., Any]:
    """``wait_for_engine_startup``, which raises the first real cause where an engine has told it.

    And not later than ``VLLM_ENGINE_READY_TIMEOUT_S``, which upstream's lets pass by.

    Args:
        upstream: vLLM's own.
    """

    @functools.wraps(upstream)
    def wait_for_engine_startup(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        manager = _manager_in(given)
        told = told_to(manager)
        if told is None:
            return upstream(*args, **kwargs)
        vars(manager)[FILES] = files = _client_files(given)
        for path in files:
            own_file(path)
        try:
            return rebound(upstream, zmq=_bounded(globals_of(upstream)["zmq"], told))(*args, **kwargs)
        except StartupError:
            raise
        except RuntimeError:
            cause = told.first_cause()
            if cause is None:
                raise
            raise StartupError(cause) from None

    return wait_for_engine_startup


def hardened_socket(upstream: Callable[..., Any]) -> Callable[..., Any]:
    """``zmq_socket_ctx``, on which a launcher waits for its engines, out of which a Ctrl-C comes.

    Upstream's drops it, and the launcher then waits for the engines until ``VLLM_ENGINE_READY_TIMEOUT_S`` is
    over. The file of a socket that it binds goes with it, too.

    Args:
        upstream: vLLM's own.
    """

    @functools.wraps(upstream)
    @contextlib.contextmanager
    def zmq_socket_ctx(path: str, *args: Any, **kwargs: Any) -> Iterator[Any]:
        pressed: KeyboardInterrupt | None = None
        file = file_of(path) if kwargs.get("bind") else ""
        if file:
            expect_file(file)
        try:
            with upstream(path, *args, **kwargs) as socket:
                if file:
                    own_file(file)
                try:
                    yield socket
                except KeyboardInterrupt as error:
                    pressed = error
        finally:
            if file:
                remove_file(file)
        if pressed is not None:
            try:
                raise pressed
            finally:
                del pressed

    return zmq_socket_ctx


def _bounded(zmq: Any, told: Told) -> Standin:
    """Stands for the module where the engines are waited for."""

    class Poller(zmq.Poller):  # type: ignore[misc]
        """One that does not wait longer than the engines may take."""

        def poll(self, timeout: float | None = None) -> Any:
            left = told.left() * 1000
            events = super().poll(left if timeout is None else min(timeout, left))
            if not events and not told.left():
                raise StartupError(told.delay())
            return events

    return Standin(zmq, Poller=Poller)


class _Context:
    """Stands for a context of multiprocessing where the engines are made."""

    def __init__(self, context: Any, told: Told) -> None:
        self._context = context
        self._told = told

    def Process(self, *args: Any, **kwargs: Any) -> Any:
        ours = inspect.unwrap(kwargs.get("target", run_engine_core)) is run_engine_core
        if args or "kwargs" not in kwargs or not ours:
            return self._context.Process(*args, **kwargs)
        return self._told.attach(self._context, self._context.Process, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


def _manager_in(arguments: list[Any]) -> Any:
    """The manager of engine processes; versions pass it by itself, or in what they launch."""
    for one in arguments:
        for candidate in (one, getattr(one, "engine_manager", None)):
            if told_to(candidate) is not None:
                return candidate
    return None


def _client_files(arguments: list[Any]) -> list[str]:
    """The files of the sockets by which the client talks to its engines."""
    files: list[str] = []
    for one in arguments:
        addresses = getattr(one, "addresses", None)
        for address in (*getattr(addresses, "inputs", ()), *getattr(addresses, "outputs", ())):
            if path := file_of(address):
                files.append(path)
    return files


def _end(manager: Any) -> None:
    finalizer = vars(manager).get("_finalizer")
    if finalizer is not None:
        finalizer.detach()
    processes = vars(manager).get("processes", ())
    stop_processes(processes)
    for process in processes:
        close_process(process)
