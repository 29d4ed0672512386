"""The launcher: a start that fails ends every engine, and tells the first cause.

Upstream's words for a failure are "see root cause above", and engines that had started by the time at which
the next could not be started live on.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from engine._processes import stop_processes
from engine._rebound import rebound
from engine._socket_files import file_of, own_file, remove_file
from engine._startup import Cause, StartupError, cause_in
from engine._transaction import OwnershipTransaction, transactional
from engine.background._process import PIPE
from engine.multiproc._context import close_process

_PIPES = "_startup_pipes"

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
        pipes = _Pipes()
        transaction.own("pipes", pipes, release="close")
        transaction.own("engine processes", self, release=_end)
        context = upstream.__globals__["get_mp_context"]
        rebound(upstream, get_mp_context=lambda: _Context(context(), pipes))(self, *args, **kwargs)
        pipes.started()
        vars(self)[_PIPES] = pipes

    return __init__


def hardened_wait(upstream: Callable[..., Any]) -> Callable[..., Any]:
    """``wait_for_engine_startup``, which raises the first real cause where an engine has told it.

    Args:
        upstream: vLLM's own.
    """

    @functools.wraps(upstream)
    def wait_for_engine_startup(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        manager = _manager_in(given)
        if manager is not None:
            vars(manager)[FILES] = files = _client_files(given)
            for path in files:
                own_file(path)
        try:
            result = upstream(*args, **kwargs)
        except RuntimeError:
            cause = _first_cause(manager) if manager is not None else None
            if cause is None:
                raise
            raise StartupError(cause) from None
        if manager is not None:
            # What goes wrong from here on is told by other means.
            vars(manager)[_PIPES].close()
        return result

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


class _Pipes:
    """One for each engine, on which it tells what went wrong."""

    def __init__(self) -> None:
        self.readers: list[tuple[Any, Any]] = []
        self._writers: list[Any] = []

    def attach(self, context: Any, process: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
        """A process that has a pipe among its arguments."""
        reader, writer = context.Pipe(duplex=False)
        self._writers.append(writer)
        made = process(**{**kwargs, "kwargs": {**kwargs["kwargs"], PIPE: writer}})
        self.readers.append((made, reader))
        return made

    def started(self) -> None:
        """The processes have their ends: this one's copies are closed."""
        while self._writers:
            self._writers.pop().close()

    def close(self) -> None:
        """Close all."""
        self.started()
        while self.readers:
            self.readers.pop()[1].close()


class _Context:
    """Stands for a context of multiprocessing where the engines are made."""

    def __init__(self, context: Any, pipes: _Pipes) -> None:
        self._context = context
        self._pipes = pipes

    def Process(self, *args: Any, **kwargs: Any) -> Any:
        if args or "kwargs" not in kwargs:
            return self._context.Process(*args, **kwargs)
        return self._pipes.attach(self._context, self._context.Process, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


def _manager_in(arguments: list[Any]) -> Any:
    """The manager of engine processes; versions pass it by itself, or in what they launch."""
    for one in arguments:
        for candidate in (one, getattr(one, "engine_manager", None)):
            if _PIPES in getattr(candidate, "__dict__", {}):
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


def _first_cause(manager: Any) -> Cause | None:
    causes = list(_causes(vars(manager)[_PIPES]))
    return min(causes, key=lambda cause: cause.at) if causes else None


def _causes(pipes: _Pipes) -> Iterator[Cause]:
    for number, (process, reader) in enumerate(pipes.readers):
        cause = None
        try:
            if not reader.closed and reader.poll(0):
                cause = cause_in(reader.recv())
        except (EOFError, OSError):
            pass
        if cause is None and process.exitcode is not None:
            role = "engine" if len(pipes.readers) == 1 else f"engine[{number}]"
            cause = Cause.of_end(role, process.pid, process.exitcode)
        if cause is not None:
            yield cause


def _end(manager: Any) -> None:
    finalizer = vars(manager).get("_finalizer")
    if finalizer is not None:
        finalizer.detach()
    processes = vars(manager).get("processes", ())
    stop_processes(processes)
    for process in processes:
        close_process(process)
