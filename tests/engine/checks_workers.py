"""What is checked of the executor with worker processes, each in a process of its own; run by `_forge`.

Two real workers of the tiny model, forked. What is made to fail is replaced in vLLM's own modules.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from faultinject.targets import _vllm_trees
from tests.engine.checks import raising, replaced

SOCKET = re.compile("[0-9a-f-]{36}")


def construct() -> Any:
    target = _vllm_trees.multiproc_executor()
    os.environ.update(target.environment)
    call, arguments, keywords = target.prepare()
    os.environ[_vllm_trees.METHOD] = "fork"
    return call(*arguments, **keywords)


def holdings() -> dict[str, Any]:
    """What this process and those it started hold, as far as it can be seen from here."""
    me = psutil.Process()
    ours = {me.pid, *(child.pid for child in me.children(recursive=True))}
    return {
        "fds": me.num_fds(),
        "threads": sorted(one.name for one in threading.enumerate()),
        "processes": len(ours),
        "memory": sorted(path.name for path in Path("/dev/shm").iterdir()),
        "sockets": sum(1 for path in Path(tempfile.gettempdir()).iterdir() if SOCKET.fullmatch(path.name)),
        "environment": {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", _vllm_trees.METHOD)},
    }


def more(before: dict[str, Any]) -> list[str]:
    now = holdings()
    # The first shared memory of a process starts multiprocessing's resource tracker: a process and a pipe.
    return sorted(name for name in now if now[name] != before[name])


def prepared() -> dict[str, Any]:
    """What is held once everything that is made once in a process has been made."""
    from multiprocessing import resource_tracker

    _vllm_trees.multiproc_executor().prepare()
    os.environ[_vllm_trees.METHOD] = "fork"
    os.environ["OMP_NUM_THREADS"] = "1"
    resource_tracker.ensure_running()
    os.urandom(1)
    # It keeps a descriptor of the kernel's random numbers for later.
    from vllm.distributed.device_communicators.shm_broadcast import MessageQueue

    from engine.multiproc._queues import give_back_queue

    give_back_queue(MessageQueue(1, 1, max_chunk_bytes=1024))
    gc.collect()
    return holdings()


def _worker() -> Any:
    from vllm.v1.worker.gpu_worker import Worker

    return Worker


def _die(*args: object, **kwargs: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _failed(holder: Any, name: str, by: Callable[..., Any]) -> list[Any]:
    before = prepared()
    with replaced(holder, name, by):
        try:
            construct()
        except BaseException as error:
            # While the exception is held, and with it every frame.
            return [type(error).__name__, str(error), more(before)]
    raise AssertionError("the construction did not fail")


# ---- the checks ----


def an_executor_that_fails_at_its_end() -> list[Any]:
    from vllm.v1.executor.multiproc_executor import MultiprocExecutor

    return _failed(MultiprocExecutor, "_post_init_executor", raising(ZeroDivisionError("planted")))


def a_worker_that_fails_to_load_its_model() -> list[Any]:
    return _failed(_worker(), "load_model", raising(ZeroDivisionError("planted")))


def a_worker_that_is_killed() -> list[Any]:
    from vllm.v1.worker.cpu_worker import CPUWorker

    return _failed(CPUWorker, "init_device", _die)


def a_worker_that_cannot_be_started() -> list[Any]:
    from multiprocessing.popen_fork import Popen

    return _failed(Popen, "_launch", raising(OSError(11, "planted")))


def a_second_worker_that_cannot_be_started() -> list[Any]:
    """The first runs by then."""
    from multiprocessing.popen_fork import Popen

    launch = Popen._launch  # type: ignore[attr-defined]
    workers: list[str] = []

    def second_fails(self: Any, process: Any) -> None:
        if "Worker" in process.name:
            workers.append(process.name)
            if len(workers) == 2:
                raise OSError(11, "planted")
        launch(self, process)

    return _failed(Popen, "_launch", second_fails)


def a_normal_shutdown() -> list[Any]:
    before = prepared()
    executor = construct()
    running = len(psutil.Process().children())
    answers = executor.collective_rpc("check_health")
    together = [threading.Thread(target=executor.shutdown) for _ in range(3)]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join()
    return [running, answers, more(before)]


def a_queue_that_is_given_back_beside_its_reader() -> list[Any]:
    """Another thread reads from it, as it does where a monitor has seen a worker die; then without the lock.

    Returns:
        For both, whether the reader had a closed socket before it could leave, and what ended it.
    """
    from vllm.distributed.device_communicators.shm_broadcast import MessageQueue

    from engine._harden import original

    plain = original("vllm.distributed.device_communicators.shm_broadcast:MessageQueue.dequeue")
    return [_given_back_beside(MessageQueue.dequeue), _given_back_beside(plain)]


def _given_back_beside(read: Callable[[Any], Any]) -> list[Any]:
    from vllm.distributed.device_communicators.shm_broadcast import MessageQueue

    from engine.multiproc._queues import give_back_queue

    writer = MessageQueue(1, 1, max_chunk_bytes=1024)
    reader = MessageQueue.create_from_handle(writer.export_handle(), 0)
    socket = reader._spin_condition.local_notify_socket
    waits = threading.Event()
    seen: list[Any] = []

    def leave_slowly(timeout_ms: int | None = None) -> None:
        waits.set()
        while not reader.shutting_down:
            time.sleep(0.005)
        end = time.monotonic() + 0.5
        while not socket.closed and time.monotonic() < end:
            time.sleep(0.005)
        seen.append(socket.closed)

    def run() -> None:
        try:
            read(reader)
        except RuntimeError as error:
            seen.append(str(error))

    reader._spin_condition.wait = leave_slowly
    reading = threading.Thread(target=run)
    reading.start()
    waits.wait()
    try:
        give_back_queue(reader)
    except ExceptionGroup as failed:
        # The memory that is being read cannot be unmapped.
        seen.extend(type(one).__name__ for one in failed.exceptions)
    reading.join()
    give_back_queue(reader)
    give_back_queue(writer)
    return sorted(map(str, seen))


def a_monitor_that_shuts_down_beside_another_thread() -> bool:
    """As it does where both have seen a worker die; whether it still ran when what it watched was closed."""
    from engine.multiproc._executor import _SET_UP

    prepared()
    executor = construct()
    workers = vars(executor)[_SET_UP].workers
    monitor = workers.thread(target=executor.shutdown, daemon=True)
    end_all, last_steps = workers.end_all, workers._last_steps
    alive: list[bool] = []

    def begin_beside() -> None:
        monitor.start()
        end_all()

    def look() -> Any:
        alive.append(monitor.is_alive())
        return last_steps()

    workers.end_all, workers._last_steps = begin_beside, look
    executor.shutdown()
    monitor.join()
    return alive == [True]
