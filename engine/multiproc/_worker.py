"""A worker in a process of its own: its start is a transaction, and tells its parent why it failed.

`worker_main` is what a hardened executor starts in place of ``WorkerProc.worker_main``. Where processes are
spawned it is found by its name, so that the new process imports this package and is hardened too.
"""

from __future__ import annotations

import contextlib
import functools
import signal
from collections.abc import Callable
from typing import Any

from engine._distributed import ProcessGroups, coordinators
from engine._lost import raise_again
from engine._rebound import rebound
from engine._standin import Standin
from engine._startup import Teller, teller, telling
from engine._transaction import OwnershipTransaction, transactional
from engine.multiproc._queues import give_back_queue


def worker_main(*args: Any, **kwargs: Any) -> None:
    """Runs vLLM's own; if the worker cannot be constructed, its parent is told why."""
    from engine._harden import harden, original

    if not harden():
        # This process finds another vLLM than its parent did.
        from vllm.v1.executor.multiproc_executor import WorkerProc

        WorkerProc.worker_main(*args, **kwargs)
        return
    ours = Teller(kwargs["ready_pipe"], role_of(kwargs.get("rank", 0)))
    telling(ours)
    signals = _Signals(ours)
    raise_again(signals.lost)
    upstream = original("vllm.v1.executor.multiproc_executor:WorkerProc.worker_main")
    rebound(upstream, signal=Standin(signal, signal=signals.set_handler))(*args, **kwargs)


class _Signals:
    """What comes of the signals that end a worker, without a word in vLLM's own handlers.

    Args:
        ours: is to tell by which the worker was asked to end.
    """

    def __init__(self, ours: Teller) -> None:
        self._ours = ours
        self._lost = False

    def set_handler(self, number: int, handler: Any) -> Any:
        """Stands for `signal.signal` where vLLM sets its handlers."""

        def handle(asked: int, frame: Any) -> None:
            if self._lost:
                # Upstream's raises once.
                self._lost = False
                raise SystemExit
            self._ours.asked = self._ours.asked or asked
            handler(asked, frame)

        return signal.signal(number, handle if callable(handler) else handler)

    def lost(self) -> int:
        """What the handler raised came out nowhere: the signal that is to come again, while it starts."""
        self._lost = self._ours.starts
        return self._ours.asked if self._lost else 0


def role_of(rank: int) -> str:
    """What the worker of that rank is called in messages."""
    return f"worker[{rank}]"


def hardened_worker_init(upstream: Callable[..., None], options: dict[str, Any]) -> Callable[..., None]:
    """``WorkerProc.__init__`` as a transaction.

    Args:
        upstream: vLLM's own.
        options: of the `OwnershipTransaction`.
    """

    @transactional("WorkerProc", **options)
    @functools.wraps(upstream)
    def __init__(self: Any, transaction: OwnershipTransaction, *args: Any, **kwargs: Any) -> None:
        transaction.own("process groups", ProcessGroups(), release="give_back")
        transaction.own("worker", self, release=_shut_down)
        transaction.own("message queues", self, release=_give_back_queues)
        transaction.own("message queues of groups", self, release=_give_back_queues_of_groups)
        try:
            upstream(self, *args, **kwargs)
        except BaseException as error:
            # Before anything is given back, which takes time in which the others would wait for this one.
            teller().failed(error)
            raise
        finally:
            teller().starts = False

    return __init__


def hardened_worker_shutdown(upstream: Callable[[Any], None]) -> Callable[[Any], None]:
    """``WorkerProc.shutdown``, with the memory and the sockets of the queues that upstream's only lets go of.

    Args:
        upstream: vLLM's own.
    """

    @functools.wraps(upstream)
    def shutdown(self: Any) -> None:
        with contextlib.ExitStack() as steps:
            for queue in (*_queues(self), *_queues_of_groups()):
                steps.callback(give_back_queue, queue)
            steps.callback(upstream, self)

    return shutdown


def _queues(worker: Any) -> list[Any]:
    named = [vars(worker).get(name) for name in ("rpc_broadcast_mq", "worker_response_mq")]
    return [one for one in named if one is not None]


def _queues_of_groups() -> list[Any]:
    """The message queues of all coordinators; ending a coordinator lets go of its queue, no more."""
    found = [getattr(one, "mq_broadcaster", None) for one in coordinators().values()]
    return list({id(one): one for one in found if one is not None}.values())


def _give_back_queues(worker: Any) -> None:
    """Give back the message queues of a worker process that has got so far."""
    _give_back_each(_queues(worker))


def _give_back_queues_of_groups(worker: Any) -> None:
    _give_back_each(_queues_of_groups())


def _give_back_each(queues: list[Any]) -> None:
    with contextlib.ExitStack() as steps:
        for queue in queues:
            steps.callback(give_back_queue, queue)


def _shut_down(worker: Any) -> None:
    # The wrapper is handed over before its worker is made, and fails to shut down until then.
    wrapper = vars(worker).get("worker")
    if getattr(wrapper, "worker", None) is not None:
        wrapper.shutdown()
