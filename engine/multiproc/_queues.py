"""Message queues of vLLM, given back: sockets, their context and the shared memory, by name and mapping.

Upstream's ``MessageQueue.shutdown`` wakes a reader and gives nothing back. The rest is left to finalizers,
which run when the last reference goes; the traceback of a failed start-up, or a signal handler's frame, keeps
one for as long as it likes.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any

from engine import lifeline
from engine._rebound import globals_of, rebound
from engine._socket_files import expect_file, file_of, remove_file
from engine._transaction import OwnershipTransaction, transactional
from engine.multiproc._memory import RingBuffer, give_back_memory, unlink_memory

_logger = logging.getLogger("engine")


def hardened_queue_init(upstream: Callable[..., None], options: dict[str, Any]) -> Callable[..., None]:
    """``MessageQueue.__init__``, that of a writer, as a transaction; its names go if this process dies.

    Args:
        upstream: vLLM's own.
        options: of the `OwnershipTransaction`.
    """

    @transactional("MessageQueue", **options)
    @functools.wraps(upstream)
    def __init__(self: Any, transaction: OwnershipTransaction, *args: Any, **kwargs: Any) -> None:
        names = globals_of(upstream)
        addresses: list[str] = []

        def context() -> Any:
            return transaction.acquire("sockets", names["Context"], release=_destroy)

        ring = transaction.own("shared memory", RingBuffer(names["ShmRingBuffer"]), release="give_back")

        def buffer(*a: Any, **k: Any) -> Any:
            made = ring.make(*a, **k)
            _tell_the_guardian(lifeline.own_name, [("shared_memory", made.shared_memory.name)])
            return made

        def address() -> str:
            addresses.append(names["get_open_zmq_ipc_path"]())
            if path := file_of(addresses[-1]):
                expect_file(path)
            return addresses[-1]

        transaction.own("files of sockets", addresses, release=_remove)
        rebound(upstream, Context=context, ShmRingBuffer=buffer, get_open_zmq_ipc_path=address)(
            self, *args, **kwargs
        )
        _tell_the_guardian(lifeline.own_name, _names(self))

    return __init__


def hardened_attachment(upstream: Callable[..., Any], options: dict[str, Any]) -> Any:
    """``MessageQueue.create_from_handle``, that of a reader, as a transaction; the writer's memory stays.

    Args:
        upstream: vLLM's own.
        options: of the `OwnershipTransaction`.
    """
    plain = getattr(upstream, "__func__", upstream)

    @functools.wraps(plain)
    def create_from_handle(*args: Any, **kwargs: Any) -> Any:
        with OwnershipTransaction("MessageQueue of a reader", **options) as transaction:
            names = globals_of(plain)
            context = functools.partial(transaction.acquire, "sockets", names["Context"], release=_destroy)
            ring = transaction.own("shared memory", RingBuffer(names["ShmRingBuffer"]), release="give_back")
            return rebound(plain, Context=context, ShmRingBuffer=ring.make)(*args, **kwargs)

    return staticmethod(create_from_handle)


def hardened_dequeue(upstream: Callable[..., Any]) -> Callable[..., Any]:
    """``MessageQueue.dequeue``, for whose end `give_back_queue` waits: no socket goes beside a reader.

    Args:
        upstream: vLLM's own.
    """

    @functools.wraps(upstream)
    def dequeue(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _reading(self):
            if _GIVEN_BACK in vars(self):
                # Upstream's word for a reader that its queue's end has woken.
                raise RuntimeError("cancelled")
            return upstream(self, *args, **kwargs)

    return dequeue


def give_back_queue(queue: Any) -> None:
    """Close the sockets of a `MessageQueue` and its shared memory; a writer's names are removed too.

    Asked for again it does nothing.

    Raises:
        ExceptionGroup: of what failed, after everything was tried.
    """
    sockets = [one for one in _sockets(queue) if not one.closed]
    contexts = {id(one.context): one.context for one in sockets}
    writes = getattr(queue, "_is_writer", False)
    failures = _each([queue.shutdown] if sockets and not queue.shutting_down else [])
    # A reader in another thread has been woken by that. libzmq's sockets are of one thread at a time.
    alone = _reading(queue).acquire(timeout=_LEAVES)
    try:
        steps: list[Callable[[], object]] = []
        if alone:
            vars(queue)[_GIVEN_BACK] = True
            steps += [functools.partial(one.close, linger=0) for one in sockets]
            steps += [one.term for one in contexts.values()]
        else:
            failures.append(TimeoutError(f"a thread was still reading {_LEAVES:g} s after it was woken"))
        if writes:
            steps += [functools.partial(remove_file, path) for path in _socket_files(queue)]
        steps += [functools.partial(give_back_memory, holder) for holder in _holders(queue)]
        failures += _each(steps)
    finally:
        if alone:
            _reading(queue).release()
    if writes:
        _tell_the_guardian(lifeline.disown_name, _names(queue))
    _raise(failures)


_LEAVES = 2.0
"""Seconds in which a reader leaves that was woken."""

_READING = "_lock_of_whoever_reads"
_GIVEN_BACK = "_was_given_back"


def _reading(queue: Any) -> Any:
    """Held by a thread that reads; again by a signal handler that interrupts it."""
    known = vars(queue)
    return known[_READING] if _READING in known else known.setdefault(_READING, threading.RLock())


def remove_names(queue: Any) -> None:
    """Remove what a queue's writer has made in ``/dev/shm`` and as sockets, once that writer is dead.

    Raises:
        ExceptionGroup: of what failed, after everything was tried.
    """
    steps: list[Callable[[], object]] = [
        functools.partial(unlink_memory, holder.shared_memory.name) for holder in _holders(queue)
    ]
    steps += [functools.partial(remove_file, path) for path in _socket_files(queue)]
    _raise(_each(steps))


def _each(steps: Iterable[Callable[[], object]]) -> list[Exception]:
    """Take every step; what failed."""
    failures: list[Exception] = []
    for step in steps:
        try:
            step()
        except Exception as error:
            # Without the frames, which would keep the queue.
            failures.append(error.with_traceback(None))
    return failures


def _raise(failures: list[Exception]) -> None:
    if failures:
        raise ExceptionGroup("message queue", failures)


def _destroy(context: Any) -> None:
    context.destroy(linger=0)


def _remove(addresses: list[str]) -> None:
    for path in filter(None, map(file_of, addresses)):
        remove_file(path)


def _names(queue: Any) -> list[tuple[lifeline.Kind, str]]:
    """What a queue's writer has made that has a name."""
    names: list[tuple[lifeline.Kind, str]] = [
        ("shared_memory", holder.shared_memory.name) for holder in _holders(queue)
    ]
    return names + [("socket", path) for path in _socket_files(queue)]


def _tell_the_guardian(
    tell: Callable[[lifeline.Kind, str], None], names: Iterable[tuple[lifeline.Kind, str]]
) -> None:
    for kind, name in names:
        try:
            tell(kind, name)
        except (OSError, lifeline.LifelineError) as error:
            _logger.warning("%s may stay where it is if this process is killed: %s", name, error)


def _holders(queue: Any) -> list[Any]:
    holders = (getattr(queue, "buffer", None), getattr(queue, "tensor_arena", None))
    return [one for one in holders if getattr(one, "shared_memory", None) is not None]


def _socket_files(queue: Any) -> list[str]:
    """The files of the sockets of a queue's writer: libzmq leaves them where they are."""
    handle = getattr(queue, "handle", None)
    addresses = [getattr(handle, name, None) for name in ("local_subscribe_addr", "local_notify_addr")]
    return [path for path in map(file_of, filter(None, addresses)) if path]


def _sockets(queue: Any) -> list[Any]:
    condition = getattr(queue, "_spin_condition", None)
    names = ("local_notify_socket", "read_cancel_socket", "write_cancel_socket")
    found = [getattr(queue, name, None) for name in ("local_socket", "remote_socket")]
    found += [getattr(condition, name, None) for name in names]
    return [one for one in found if one is not None]
