"""Waiting for workers: not for ever, and not for one that has died.

Upstream waits without a limit, and on its message queues without a look at the processes at the other end.
"""

from __future__ import annotations

import multiprocessing.connection
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from engine._rebound import rebound
from engine._standin import Standin
from engine._startup import Cause, StartupError, is_stopped, status_of


def ready_timeout() -> float:
    """Seconds in which an engine has to be ready, as vLLM was told."""
    from vllm import envs

    return float(envs.VLLM_ENGINE_READY_TIMEOUT_S)


class Waiting:
    """The time that one executor's workers have to become ready.

    Args:
        handles: of the workers that have been started, each with its process and rank; looked at anew.
        role_of: the role of the worker of a rank.
    """

    def __init__(self, handles: Callable[[], Sequence[Any]], role_of: Callable[[int], str]) -> None:
        self._handles = handles
        self._role_of = role_of
        self.limit = ready_timeout()
        self._until = time.monotonic() + self.limit

    def left(self) -> float:
        """Seconds that are left."""
        return max(0.0, self._until - time.monotonic())

    def first_end(self, *, early: bool) -> Cause | None:
        """How the first worker in the order of ranks has ended, of those that have.

        Args:
            early: whether they were not ready by then.
        """
        for one in self._handles():
            status = status_of(one.proc)
            if status is not None:
                return Cause.of_end(self._role_of(one.rank), one.proc.pid, status, early=early)
        return None

    def delay(self, unready: Iterable[Any] | None = None) -> StartupError:
        """What is wrong when the time is over: one of `unready` that is stopped, or the first of them."""
        handles = list(self._handles() if unready is None else unready)
        late = next((one for one in handles if is_stopped(one.proc.pid)), handles[0])
        return StartupError(Cause.of_delay(self._role_of(late.rank), late.proc.pid, self.limit))

    def multiprocessing(self) -> Standin:
        """Stands for the module where the ready pipes are waited for."""
        real = multiprocessing.connection

        def wait(pipes: Iterable[Any], timeout: float | None = None) -> list[Any]:
            pipes = list(pipes)
            ready = real.wait(pipes, self.left() if timeout is None else min(timeout, self.left()))
            if not ready and not self.left():
                raise self.delay(pipe.worker for pipe in pipes)
            return ready

        return Standin(multiprocessing, connection=Standin(real, wait=wait))

    def until_ready(self, queue: Any) -> None:
        """``MessageQueue.wait_until_ready``, which a worker that dies or stands still ends.

        Raises:
            StartupError: with the worker.
        """
        sockets = {
            name: Standin(socket, recv=self._receiver(socket))
            for name in ("local_socket", "remote_socket")
            if (socket := getattr(queue, name, None)) is not None
        }
        rebound(type(queue).wait_until_ready)(Standin(queue, **sockets))

    def _receiver(self, socket: Any) -> Callable[..., Any]:
        import zmq as typeless

        zmq: Any = typeless

        def recv(*args: Any, **kwargs: Any) -> Any:
            poller = zmq.Poller()
            poller.register(socket, zmq.POLLIN)
            for one in self._handles():
                poller.register(one.proc.sentinel, zmq.POLLIN)
            events = dict(poller.poll(self.left() * 1000))
            if socket not in events:
                cause = self.first_end(early=True) if events else None
                raise StartupError(cause) if cause is not None else self.delay()
            return socket.recv(*args, **kwargs)

        return recv
