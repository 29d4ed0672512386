"""What is checked of an engine in a process of its own, with two workers; run by `_forge`.

Real processes of the tiny model, forked. A caller that is to die is a fork of the check's own process.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import psutil

from faultinject.targets import _vllm_trees
from tests.engine._forge import HARDENED
from tests.engine.checks import raising, replaced
from tests.engine.checks_workers import SOCKET

Then = Callable[[int, list[psutil.Process]], object]

LONGEST = 30.0
"""Seconds that a caller may take to hear of a failure, a ready timeout of `READY_TIMEOUT` included."""

READY_TIMEOUT = 12
"""Seconds: a start has come to its workers' models by then, also beside other work."""

A_WHILE = 5.0
"""Seconds for which upstream is seen not to notice something."""

PAST_IT = READY_TIMEOUT + 3.0
"""Seconds after which upstream has let that time pass by."""


def patience(seconds: float) -> float:
    """So many seconds where something is to happen; upstream is only seen not to do it for a while."""
    return seconds if HARDENED in os.environ else A_WHILE


def construct() -> Any:
    target = _vllm_trees.llm_tp2()
    os.environ.update(target.environment)
    os.environ[_vllm_trees.METHOD] = "fork"
    target.warm_up()  # type: ignore[misc]
    call, arguments, keywords = target.prepare()
    return call(*arguments, **keywords)


def scheduler() -> Any:
    from vllm.v1.core.sched.scheduler import Scheduler

    return Scheduler


def segments() -> set[str]:
    """Names of shared memory, and of sockets' files."""
    sockets = {path.name for path in Path(tempfile.gettempdir()).iterdir() if SOCKET.fullmatch(path.name)}
    return sockets | {path.name for path in Path("/dev/shm").iterdir()}


def living(known: list[psutil.Process], seconds: float) -> list[str]:
    """The names of those that live on for so long."""
    end = time.monotonic() + seconds
    while True:
        alive = []
        for one in known:
            with contextlib.suppress(psutil.NoSuchProcess):
                if one.is_running() and one.status() != psutil.STATUS_ZOMBIE:
                    alive.append(one)
        if not alive or time.monotonic() > end:
            return [_name(one) for one in alive]
        time.sleep(0.02)


def _name(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.name()
    return "(gone)"


def remove(processes: Iterable[psutil.Process], names: Iterable[str]) -> None:
    """End what upstream has left, and remove it."""
    for one in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    for name in names:
        for folder in ("/dev/shm", tempfile.gettempdir()):
            Path(folder, name).unlink(missing_ok=True)


def left_after(before: set[str], seconds: float) -> list[str]:
    """What there is more of these, for so long."""
    end = time.monotonic() + seconds
    while (more := segments() - before) and time.monotonic() < end:
        time.sleep(0.02)
    return sorted(more)


def failing(holder: Any, name: str, by: Any) -> list[Any]:
    """A start in which `name` is replaced by what makes it fail.

    Returns:
        Type and text of what the caller was told; what lives on after it, and what has stayed of names.
    """
    before = segments()
    with replaced(holder, name, by):
        try:
            construct()
        except BaseException as error:
            said = [type(error).__name__, str(error)]
        else:
            raise AssertionError("the construction did not fail")
    gc.collect()
    children = psutil.Process().children(recursive=True)
    engines = [one for one in children if "Worker" in _name(one) or "Engine" in _name(one)]
    seen = [*said, living(engines, 5.0), sorted(segments() - before)]
    remove(engines, segments() - before)
    return seen


def _at_the_scheduler(then: Then, *, wait: float, longest: float = LONGEST) -> list[Any]:
    """A caller whose engine stays at its scheduler; `then` is called with its pid and with all below it."""
    return staying_at(scheduler(), "__init__", 1, then, wait=wait, longest=longest)


def staying_at(
    holder: Any, name: str, times: int, then: Then, *, wait: float, longest: float = LONGEST
) -> list[Any]:
    """As `_at_the_scheduler`, with that function; `times`: in how many processes it is called.

    Returns:
        The caller's exit status, -1 if it has not ended by itself; what lives on after `wait` seconds, and
        what has stayed of names; what the caller was told.
    """
    before = segments()
    arrived, arriving = os.pipe()
    here, there = os.pipe()

    def stay(*args: object, **kwargs: object) -> None:
        os.write(arriving, b"x")
        while True:
            time.sleep(1000)

    caller = os.fork()
    if caller == 0:
        # What runs the tests may have it ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with replaced(holder, name, stay):
                construct()
        except BaseException as error:
            os.write(there, f"{type(error).__name__}: {error}".encode())
        os._exit(7)
    ended = os.pidfd_open(caller)
    for _ in range(times):
        if arrived not in select.select([arrived, ended], [], [])[0]:
            raise AssertionError(f"the caller ended before: {os.read(here, 100_000).decode()}")
        os.read(arrived, 1)
    os.close(ended)
    below = psutil.Process(caller).children(recursive=True)
    then(caller, below)
    if living([psutil.Process(caller)], longest):
        below.append(psutil.Process(caller))
        status = -1
    else:
        status = os.waitstatus_to_exitcode(os.waitpid(caller, 0)[1])
    alive = living(below, wait)
    left = left_after(before, 0.0 if alive else wait)
    remove(below, left)
    if status == -1:
        os.waitpid(caller, 0)
    os.set_blocking(here, False)
    said = b""
    with contextlib.suppress(BlockingIOError):
        said = os.read(here, 100_000)
    return [status, alive, left, said.decode()]


def kill_the_caller(caller: int, below: list[psutil.Process]) -> None:
    os.kill(caller, signal.SIGKILL)


def _press_ctrl_c(caller: int, below: list[psutil.Process]) -> None:
    os.kill(caller, signal.SIGINT)


def terminate_the_engine(caller: int, below: list[psutil.Process]) -> None:
    next(one for one in below if "EngineCore" in one.name()).terminate()


def worker(number: int, send: int) -> Then:
    """Sends a signal to the worker of that rank."""

    def then(caller: int, below: list[psutil.Process]) -> None:
        os.kill(next(one.pid for one in below if f"Worker_TP{number}" in title_of(one)), send)

    return then


def title_of(process: psutil.Process) -> str:
    return " ".join(process.cmdline())


# ---- the checks ----


def a_caller_that_is_killed() -> list[Any]:
    return _at_the_scheduler(kill_the_caller, wait=5.0)


def ctrl_c() -> list[Any]:
    return _at_the_scheduler(_press_ctrl_c, wait=5.0)


def an_engine_that_is_terminated() -> list[Any]:
    return _at_the_scheduler(terminate_the_engine, wait=5.0)


def a_worker_that_dies_while_the_engine_is_busy() -> list[Any]:
    return _at_the_scheduler(worker(1, signal.SIGKILL), wait=5.0, longest=patience(LONGEST))


def a_worker_that_is_stopped() -> list[Any]:
    from vllm.v1.worker.gpu_worker import Worker

    os.environ["VLLM_ENGINE_READY_TIMEOUT_S"] = str(READY_TIMEOUT)
    then = worker(1, signal.SIGSTOP)
    longest = max(PAST_IT, patience(LONGEST))
    return staying_at(Worker, "load_model", 2, then, wait=5.0, longest=longest)


def an_engine_that_is_terminated_as_it_starts_a_worker() -> list[Any]:
    """Within the start, where what a signal's handler raises is lost."""
    before = segments()
    us = os.getpid()
    workers: list[None] = []

    def started_one() -> None:
        if os.getppid() == us:
            workers.append(None)
            if len(workers) == 2:
                os.kill(os.getpid(), signal.SIGTERM)

    os.register_at_fork(after_in_parent=started_one)
    try:
        construct()
    except BaseException as error:
        said = [type(error).__name__, str(error)]
    else:
        said = ["", "it started"]
    gc.collect()
    alive = living(psutil.Process().children(recursive=True), 5.0)
    return [*said, [one for one in alive if "VLLM" in one], left_after(before, 5.0)]


def an_engine_that_dies_and_is_asked_something() -> list[Any]:
    """An answer of the engine is waited for, and the engine is killed."""
    llm = construct()
    client = llm.llm_engine.engine_core
    engines = [one for one in psutil.Process().children(recursive=True) if "VLLM" in title_of(one)]
    (dying,) = (one for one in engines if "EngineCore" in title_of(one))
    dying.suspend()
    told: list[list[str]] = []

    def ask() -> None:
        try:
            client.call_utility("get_supported_tasks")
        except Exception as error:
            told.append([type(error).__name__, "\n".join(getattr(error, "__notes__", ()))])

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    while not client.utility_results:
        time.sleep(0.01)
    dying.kill()
    asking.join(patience(LONGEST))
    _vllm_trees.give_back(llm)
    return [*(told or [["waits", ""]])[0], living(engines, 5.0)]


def an_engine_that_somebody_else_asks_to_end() -> list[Any]:
    """An orderly end, with status 0, which the caller has not asked for."""
    llm = construct()
    client = llm.llm_engine.engine_core
    (asked,) = (one for one in psutil.Process().children(recursive=True) if "EngineCore" in title_of(one))
    asked.terminate()
    end = time.monotonic() + LONGEST
    while not client.resources.engine_dead and time.monotonic() < end:
        time.sleep(0.01)
    try:
        client.call_utility("get_supported_tasks")
    except Exception as error:
        said = [type(error).__name__, "\n".join(getattr(error, "__notes__", ()))]
    else:
        said = ["answered", ""]
    _vllm_trees.give_back(llm)
    return said


def a_caller_that_fails_after_its_engine_is_up() -> list[Any]:
    from vllm.entrypoints import llm

    before = segments()
    with replaced(llm, "load_chat_template", raising(ZeroDivisionError("planted"))):
        try:
            construct()
        except ZeroDivisionError as error:
            # While the exception is held, with the frames that it came through.
            below = psutil.Process().children(recursive=True)
            engines = [one for one in below if "VLLM" in title_of(one)]
            seen = [str(error), living(engines, 0.0), sorted(segments() - before)]
            remove(below, segments() - before)
            return seen
    raise AssertionError("the construction did not fail")


def a_spawned_engine_without_room_for_its_cache() -> list[Any]:
    """Nothing is replaced: this is what happens where there is too little memory."""
    before = segments()
    target = _vllm_trees.llm_tp2()
    os.environ.update(target.environment)
    os.environ[_vllm_trees.METHOD] = "spawn"
    call, arguments, keywords = target.prepare()
    try:
        call(*arguments, **{**keywords, "num_gpu_blocks_override": 1, "max_model_len": 256})
    except Exception as error:
        said = [type(error).__name__, str(error)]
    else:
        raise AssertionError("one block was enough")
    gc.collect()
    children = psutil.Process().children(recursive=True)
    engines = [one for one in children if "VLLM" in _name(one)]
    return [*said, living(engines, 5.0), sorted(segments() - before)]


def a_good_start() -> list[Any]:
    before, threads = segments(), threading.active_count()
    llm = construct()
    outputs = llm.generate([{"prompt_token_ids": [1, 2, 3]}], use_tqdm=False)
    tokens = list(outputs[0].outputs[0].token_ids)
    below = psutil.Process().children(recursive=True)
    _vllm_trees.give_back(llm)
    engines = [one for one in below if "VLLM" in _name(one)]
    return [
        len(tokens),
        living(engines, 5.0),
        sorted(segments() - before),
        threading.active_count() - threads,
    ]
