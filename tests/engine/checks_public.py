"""Defects that were reported of vLLM, each reproduced; run by `_forge`, hardened or not.

Real processes of the tiny model, forked. What stays somewhere, or fails, is replaced in vLLM's own modules.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import mmap
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from faultinject.targets import _vllm_trees
from tests.engine.checks import raising, replaced
from tests.engine.checks_background import (
    LONGEST,
    PAST_IT,
    READY_TIMEOUT,
    Then,
    construct,
    failing,
    kill_the_caller,
    left_after,
    living,
    patience,
    remove,
    scheduler,
    segments,
    staying_at,
    terminate_the_engine,
    title_of,
)
from tests.engine.checks_workers import construct as construct_executor

PLANTED = ZeroDivisionError("planted")


def _worker() -> Any:
    from vllm.v1.worker.gpu_worker import Worker

    return Worker


def _cpu_worker() -> Any:
    from vllm.v1.worker.cpu_worker import CPUWorker

    return CPUWorker


def _staying_at(holder: Any, name: str, times: int, then: Then) -> list[Any]:
    return staying_at(holder, name, times, then, wait=patience(5.0), longest=patience(LONGEST))


def _kill_the_engine(caller: int, below: list[psutil.Process]) -> None:
    _engine(below).kill()


def _engine(below: list[psutil.Process]) -> psutil.Process:
    return next(one for one in below if "EngineCore" in title_of(one))


@contextlib.contextmanager
def _unraisable() -> Iterator[list[str]]:
    """What finalizers raise, which nobody can catch."""
    heard: list[str] = []
    before = sys.unraisablehook
    sys.unraisablehook = lambda told: heard.append(f"{type(told.exc_value).__name__}: {told.exc_value}")
    try:
        yield heard
    finally:
        gc.collect()
        sys.unraisablehook = before


# ---- whoever dies ----


def a_caller_that_is_killed_while_workers_load() -> list[Any]:
    return _staying_at(_worker(), "load_model", 2, kill_the_caller)


def an_engine_that_is_killed_while_workers_are_in_a_call() -> list[Any]:
    """One that their engine has asked them for, once they were up."""
    return _staying_at(_cpu_worker(), "compile_or_warm_up_model", 2, _kill_the_engine)


def a_host_that_leaves_at_once() -> list[Any]:
    """By ``os._exit``, as a program does that embeds the engine."""

    def leave(caller: int, below: list[psutil.Process]) -> None:
        os.kill(caller, signal.SIGUSR1)

    signal.signal(signal.SIGUSR1, lambda *_: os._exit(3))
    return _staying_at(_worker(), "load_model", 2, leave)


def an_engine_that_is_terminated_while_its_workers_start() -> list[Any]:
    return _staying_at(_cpu_worker(), "init_device", 2, terminate_the_engine)


def an_engine_that_is_killed_while_it_starts() -> list[Any]:
    return staying_at(scheduler(), "__init__", 1, _kill_the_engine, wait=patience(5.0))


def an_engine_that_is_terminated_twice() -> list[Any]:
    """The second time, also by Ctrl-C, in the middle of its clean-up, which goes on once these were sent.

    Returns:
        What lives on, and what has stayed of names.
    """
    from vllm.v1.executor.multiproc_executor import MultiprocExecutor

    before = segments()
    told, telling = os.pipe()
    waiting, go = os.pipe()
    shutdown = MultiprocExecutor.shutdown

    def slow(self: Any) -> None:
        os.write(telling, b"x")
        os.read(waiting, 1)
        shutdown(self)

    caller = os.fork()
    if caller == 0:
        try:
            with replaced(MultiprocExecutor, "shutdown", slow):
                made = construct()
            os.write(telling, b"x")
            signal.pause()
            del made
        finally:
            os._exit(7)
    os.close(telling)
    try:
        assert os.read(told, 1), "the caller has failed"
        below = psutil.Process(caller).children(recursive=True)
        engines = [one for one in below if "VLLM" in title_of(one)]
        dying = _engine(below)
        dying.terminate()
        os.read(told, 1)
        dying.terminate()
        dying.send_signal(signal.SIGINT)
        os.write(go, b"x" * 100)
        alive = living(engines, patience(30.0))
        left = left_after(before, 0.0 if alive else 5.0)
    finally:
        os.kill(caller, signal.SIGKILL)
        os.waitpid(caller, 0)
    remove(below, left)
    return [alive, left]


def a_server_whose_engine_is_stopped_at_the_last_step() -> str:
    """Of a server's start, which is to have every worker reset something."""
    import asyncio

    from engine.background._told import told_to

    async def start() -> str:
        target = _vllm_trees.async_llm()
        os.environ.update({**target.environment, _vllm_trees.METHOD: "fork"})
        call, arguments, keywords = target.prepare()
        made = call(*arguments, **keywords)
        stopped = _engine(psutil.Process().children(recursive=True))
        stopped.suspend()
        told = told_to(made.engine_core.resources.engine_manager)  # None of upstream
        if told is not None:
            # As if its start had taken nearly all the time it has.
            told.limit = READY_TIMEOUT
            told._until = time.monotonic() + 1.0
        try:
            await asyncio.wait_for(made.reset_mm_cache(), patience(60.0))
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        finally:
            stopped.kill()
            made.shutdown()
        return "it was answered"

    return asyncio.run(start())


def a_warm_up_that_outlasts_the_ready_timeout() -> list[Any]:
    os.environ["VLLM_ENGINE_READY_TIMEOUT_S"] = str(READY_TIMEOUT)
    longest = max(PAST_IT, patience(LONGEST))
    wait = patience(5.0)
    return staying_at(
        _cpu_worker(), "compile_or_warm_up_model", 2, lambda *_: None, wait=wait, longest=longest
    )


# ---- whatever fails ----


def a_scheduler_that_fails() -> list[Any]:
    return failing(scheduler(), "__init__", raising(PLANTED))


def an_input_thread_that_cannot_be_had() -> list[Any]:
    """A step of the engine's process after its engine core is constructed."""
    from vllm.v1.engine.core import EngineCoreProc

    return failing(EngineCoreProc, "process_input_sockets", property(raising(PLANTED)))


def a_worker_that_fails_to_load_its_model() -> list[Any]:
    return failing(_worker(), "load_model", raising(PLANTED))


def an_executor_that_fails_before_it_has_workers() -> list[Any]:
    """Type and text of what the caller got, what that came out of, and what finalizers raised."""
    from vllm.v1.executor import multiproc_executor

    with (
        replaced(multiproc_executor, "set_multiprocessing_worker_envs", raising(PLANTED)),
        _unraisable() as told,
    ):
        seen: list[Any] = []
        try:
            construct_executor()
        except Exception as error:
            seen += [type(error).__name__, str(error), repr(error.__context__)]
    return [*seen, told]


def an_entry_point_whose_engine_fails() -> list[Any]:
    """Likewise, of ``LLM``."""
    from vllm.v1.engine import llm_engine

    with replaced(llm_engine.EngineCoreClient, "make_client", raising(PLANTED)), _unraisable() as told:
        seen: list[Any] = []
        try:
            construct()
        except Exception as error:
            seen += [type(error).__name__, str(error), repr(error.__context__)]
    return [*seen, told]


def a_second_start_after_one_that_failed() -> int:
    """How many tokens it generates."""
    failing(scheduler(), "__init__", raising(PLANTED))
    llm = construct()
    try:
        outputs = llm.generate([{"prompt_token_ids": [1, 2, 3]}], use_tqdm=False)
        return len(outputs[0].outputs[0].token_ids)
    finally:
        _vllm_trees.give_back(llm)


def a_heap_that_is_frozen_when_the_front_end_fails() -> list[Any]:
    """The engine core is in this process, and ``LLM`` fails after it: how many objects are frozen then."""
    from vllm.entrypoints import llm

    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    call, arguments, keywords = _vllm_trees.llm().prepare()
    before = gc.get_freeze_count()
    with replaced(llm, "load_chat_template", raising(PLANTED)):
        try:
            call(*arguments, **keywords)
        except ZeroDivisionError:
            return ["planted", gc.get_freeze_count() - before]
    raise AssertionError("the construction did not fail")


# ---- shared memory, sockets and ports ----


def _queue(**more: Any) -> Any:
    from vllm.distributed.device_communicators.shm_broadcast import MessageQueue

    return MessageQueue(1, 1, max_chunk_bytes=1024, **more)


class _Unmapped(mmap.mmap):
    """Fails as it does where there is no memory for it."""

    error: BaseException = MemoryError("planted")

    def __new__(cls, *args: Any, **kwargs: Any) -> _Unmapped:
        raise cls.error


def memory_that_cannot_be_mapped_when_it_is_made() -> list[Any]:
    """For a MemoryError, and for an OSError: what there is more, while the exception is held, of descriptors
    and names; and what finalizers raised."""
    _queue()
    gc.collect()
    seen: list[Any] = []
    for error in (MemoryError("planted"), OSError(errno.ENOMEM, "planted")):
        _Unmapped.error = error
        before, fds = segments(), psutil.Process().num_fds()
        with _unraisable() as told, replaced(mmap, "mmap", _Unmapped):
            try:
                _queue()
            except type(error):
                left = segments() - before
                seen += [psutil.Process().num_fds() - fds, len(left)]
        remove([], left)
        seen.append(told)
    return seen


def memory_that_cannot_be_mapped_by_a_reader() -> bool:
    """Whether its writer's name is there afterwards."""
    from vllm.distributed.device_communicators.shm_broadcast import MessageQueue

    writer = _queue()
    name = writer.buffer.shared_memory.name
    _Unmapped.error = OSError(errno.ENOMEM, "planted")
    with replaced(mmap, "mmap", _Unmapped):
        try:
            MessageQueue.create_from_handle(writer.export_handle(), 0)
        except OSError:
            return Path("/dev/shm", name).exists()
    raise AssertionError("it could be mapped")


def a_port_that_somebody_takes_before_it_is_bound() -> list[Any]:
    """Somebody takes the port of the workers' rendezvous, on machines where that is by a port.

    Returns:
        Whether he got it, and whether the start worked.
    """
    from vllm.v1.executor import multiproc_executor

    rivals: list[socket.socket] = []
    taken: list[bool] = []

    def address_of(ip: str, port: int) -> str:
        rival = socket.socket()
        rivals.append(rival)
        try:
            rival.bind(("", port))
            rival.listen()
            taken.append(True)
        except OSError:
            taken.append(False)
        return f"tcp://{ip}:{port}"

    started = False
    with (
        replaced(multiproc_executor, "aiter_requires_tcp_store", lambda: True),
        replaced(multiproc_executor, "get_distributed_init_method", address_of),
        contextlib.suppress(Exception),
    ):
        executor = construct_executor()
        started = executor.collective_rpc("check_health") == [None, None]
        executor.shutdown()
    for rival in rivals:
        rival.close()
    return [*taken, started]


def the_name_of_the_store_of_two_engines() -> bool:
    """Whether two processes of one program have different names for it."""
    from vllm import envs

    os.environ.pop("VLLM_OBJECT_STORAGE_SHM_BUFFER_NAME", None)
    names = set()
    for _ in range(2):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, envs.VLLM_OBJECT_STORAGE_SHM_BUFFER_NAME.encode())
            os._exit(0)
        os.waitpid(child, 0)
        names.add(os.read(read, 1000))
    return len(names) == 2
