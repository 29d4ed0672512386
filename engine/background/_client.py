"""The client of an engine process: what it gives back when its start fails and at its end, and whom it tells.

Upstream's waits for an answer of an engine that is dead; and of one that has died it says "see stack trace
(above) for the root cause", which is in another process's log.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from engine._rebound import globals_of, rebound
from engine._signals import held
from engine._socket_files import expect_file, file_of, remove_file
from engine._standin import Standin
from engine._startup import Cause, StartupError
from engine._transaction import OwnershipTransaction, transactional
from engine.background._ending import cleanup_of, end_engines, end_for_good, remember_monitor
from engine.background._launcher import FILES
from engine.background._told import Told, told_to


def hardened_client_init(upstream: Callable[..., None], options: dict[str, Any]) -> Callable[..., None]:
    """The constructor of a client as a transaction: one that fails after the engine is up ends the engine.

    Args:
        upstream: vLLM's own: ``MPClient``'s, or that of a class below it.
        options: of the `OwnershipTransaction`.
    """

    @transactional("client", **options)
    @functools.wraps(upstream)
    def __init__(self: Any, transaction: OwnershipTransaction, *args: Any, **kwargs: Any) -> None:
        transaction.own("engine", self, release=end_for_good)
        names = globals_of(upstream)
        call = upstream
        if upstream.__qualname__ == "MPClient.__init__":
            call = rebound(
                upstream,
                zmq=_watching(names["zmq"], self),
                make_zmq_socket=_expecting(names["make_zmq_socket"]),
            )
        call(self, *args, **kwargs)
        vars(self)[_LAST_STEP] = time.monotonic() + _AT_ONCE

    return __init__


def hardened_client_shutdown(upstream: Callable[..., None]) -> Callable[..., None]:
    """``MPClient.shutdown``, after which nobody waits for an answer any more.

    Args:
        upstream: vLLM's own.
    """

    @functools.wraps(upstream)
    def shutdown(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            upstream(self, *args, **kwargs)
        finally:
            _fail_what_is_asked(self)

    return shutdown


def hardened_monitor(upstream: Callable[[Any], None]) -> Callable[[Any], None]:
    """``MPClient.start_engine_core_monitor``: it goes on for an engine that has said that it dies.

    Upstream's leaves it at that, since the client knows; but who has asked something still waits.

    Args:
        upstream: vLLM's own.
    """

    @functools.wraps(upstream)
    def start_engine_core_monitor(self: Any) -> None:
        # Without a reference to the client, which would never be collected then.
        client = weakref.ref(self)

        def thread(target: Callable[[], None], **kwargs: Any) -> threading.Thread:
            def run() -> None:
                target()
                left = client()
                if left is not None:
                    _fail_what_is_asked(left)

            watching = threading.Thread(target=run, **kwargs)
            remember_monitor(self, watching)
            return watching

        rebound(upstream, Thread=thread)(self)

    return start_engine_core_monitor


def hardened_ensure_alive(upstream: Callable[[Any], None]) -> Callable[[Any], None]:
    """``MPClient.ensure_alive``, whose error says of a dead engine how it died.

    Args:
        upstream: vLLM's own.
    """

    @functools.wraps(upstream)
    def ensure_alive(self: Any) -> None:
        try:
            upstream(self)
        except Exception as error:
            _noted(error, self)
            raise

    return ensure_alive


def hardened_format(upstream: Callable[[Any, Exception], Exception]) -> Callable[[Any, Exception], Exception]:
    """``MPClient._format_exception``; as of `hardened_ensure_alive`."""

    @functools.wraps(upstream)
    def _format_exception(self: Any, e: Exception) -> Exception:
        formatted = upstream(self, e)
        return _noted(formatted, self) if formatted is not e else e

    return _format_exception


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
        told = told_to(self.engine_manager)
        with held(), contextlib.ExitStack() as steps:
            for path in files:
                steps.callback(remove_file, path)
            # Without a thread or a task yet that reads: the start has failed.
            if self.shutdown_path is None and self.output_queue_task is None:
                steps.callback(self.ctx.destroy, linger=0)
                steps.callback(cleanup_of(upstream, self), self)
                steps.callback(end_engines, self)
            else:
                steps.callback(cleanup_of(upstream, self), self)
            if told is not None:
                # First: what they tell from here on comes of being ended.
                steps.callback(told.close)

    return __call__


_AGAIN = 0.05
"""Seconds between two looks at what is asked of an engine that is late."""


@contextlib.contextmanager
def answers_in_time(client: Any) -> Iterator[None]:
    """While the block runs, part of a start, what an engine is asked fails when its ready timeout is over.

    An answer has at least a tenth of that time.

    Args:
        client: of an engine, which need not be in another process.
    """
    told = _told_of(client)
    if told is None:
        yield
        return

    over = threading.Event()

    def watch() -> None:
        if over.wait(max(told.left(), told.limit / 10)):
            return
        error = StartupError(told.delay())
        # Also what is asked later: something else may have taken the time.
        while not over.wait(_AGAIN):
            for future in list(client.utility_results.values()):
                _fail(future, error)

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join(_AGAIN * 10)


def hardened_reset(upstream: Callable[..., Any]) -> Callable[..., Any]:
    """``AsyncMPClient.reset_mm_cache_async``: the last step of a server's start asks every worker.

    The first one, soon after the client was constructed, has what is left of the ready timeout, and a tenth
    of it at least.

    Args:
        upstream: vLLM's own.
    """

    @functools.wraps(upstream)
    async def reset_mm_cache_async(self: Any, *args: Any, **kwargs: Any) -> Any:
        told = _told_of(self)
        until = vars(self).pop(_LAST_STEP, 0.0)
        if told is None or time.monotonic() > until:
            return await upstream(self, *args, **kwargs)
        try:
            return await asyncio.wait_for(upstream(self, *args, **kwargs), max(told.left(), told.limit / 10))
        except TimeoutError:
            raise StartupError(told.delay()) from None

    return reset_mm_cache_async


_LAST_STEP = "_time_until_which_a_server_still_starts"
_AT_ONCE = 60.0
"""Seconds within which a server goes on with its start once its client is constructed."""


def _told_of(client: Any) -> Told | None:
    return told_to(getattr(getattr(client, "resources", None), "engine_manager", None))


def _expecting(make_zmq_socket: Callable[..., Any]) -> Callable[..., Any]:
    """Stands for ``make_zmq_socket``: the file of a socket goes if this process dies, from the first on."""

    def make(context: Any, path: str, *args: Any, **kwargs: Any) -> Any:
        if file := file_of(path):
            expect_file(file)
        before = set(context._sockets)
        try:
            return make_zmq_socket(context, path, *args, **kwargs)
        except BaseException:
            # One that could not be bound; the end of its context would wait for it.
            for socket in set(context._sockets) - before:
                socket.close(linger=0)
            raise

    return make


def _watching(zmq: Any, client: Any) -> Standin:
    """Stands for the module where a client waits for the first message of each engine."""

    def shadow(socket: Any) -> Any:
        real = zmq.Socket.shadow(socket)
        return Standin(real, poll=functools.partial(_poll, zmq, real, client))

    return Standin(zmq, Socket=Standin(zmq.Socket, shadow=shadow))


def _poll(zmq: Any, socket: Any, client: Any, timeout: float) -> int:
    """Upstream's waits out the time for an engine that has died meanwhile.

    Raises:
        StartupError: with the engine that died, or is late.
    """
    manager = client.resources.engine_manager
    told = told_to(manager)
    if told is None:
        return socket.poll(timeout=timeout)  # type: ignore[no-any-return]
    poller = zmq.Poller()
    poller.register(socket, zmq.POLLIN)
    for sentinel in manager.sentinels():
        poller.register(sentinel, zmq.POLLIN)
    events = dict(poller.poll(min(timeout, told.left() * 1000)))
    if socket in events:
        return int(events[socket])
    raise StartupError((told.first_cause() if events else None) or told.delay())


def _cause(client: Any) -> Cause | None:
    """Why the engine is dead, if it died by itself."""
    manager = client.resources.engine_manager
    told = told_to(manager)
    if told is None:
        return None
    failed = getattr(manager, "failed_proc_name", None)
    if failed:
        return told.first_cause(failed)
    # It has said so, and has not ended yet.
    return told.told() if client.resources.engine_dead else None


def _noted(error: Exception, client: Any) -> Exception:
    """That error, with a note of what killed the engine; upstream's ``from None`` would drop a cause."""
    cause = _cause(client)
    if cause is not None and not getattr(error, "__notes__", ()):
        error.add_note(f"The engine has ended: {cause}")
    return error


def _fail_what_is_asked(client: Any) -> None:
    """Have whatever is asked of an engine that is dead fail."""
    for future in list(vars(client).get("utility_results", {}).values()):
        _fail(future, _dead(client))


def _dead(client: Any) -> Exception:
    from vllm.v1.engine.exceptions import EngineDeadError

    return _noted(EngineDeadError(), client)


def _fail(future: Any, error: Exception) -> None:
    """Have `future` fail, unless it is done."""

    def fail() -> None:
        if not future.done():
            future.set_exception(error)

    if not isinstance(future, asyncio.Future):
        # Its engine may answer at the same moment.
        with contextlib.suppress(Exception):
            fail()
        return
    with contextlib.suppress(RuntimeError):  # its loop is closed: nobody waits
        future.get_loop().call_soon_threadsafe(fail)


def _bound_to(socket: Any) -> str:
    """The file of a socket that was bound to one, or ``""``."""
    if socket is None or socket.closed:
        return ""
    import zmq

    return file_of(socket.getsockopt(vars(zmq)["LAST_ENDPOINT"]).decode().rstrip("\0"))
