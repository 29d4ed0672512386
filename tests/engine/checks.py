"""What is checked of the hardened engine core, each in a process of its own; run by `_forge`.

Real constructions of the tiny model. What is made to fail is replaced in vLLM's own modules, and only that.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import psutil

import engine
from faultinject.targets._vllm import MODEL, prepare_engine_core


def construct() -> Any:
    call, arguments, keywords = prepare_engine_core()
    return call(*arguments, **keywords)


def holdings() -> dict[str, int]:
    me = psutil.Process()
    return {
        "fds": me.num_fds(),
        "threads": me.num_threads(),
        "children": len(me.children(recursive=True)),
        "frozen": gc.get_freeze_count(),
    }


def settled(wanted: dict[str, int], limit: float = 5.0) -> dict[str, int]:
    """What is held, once it is as wanted: a thread ends a moment after it was joined."""
    until = time.monotonic() + limit
    while (found := holdings()) != wanted and time.monotonic() < until:
        time.sleep(0.005)
    return found


@contextlib.contextmanager
def replaced(holder: Any, name: str, by: Any) -> Iterator[None]:
    original = getattr(holder, name)
    setattr(holder, name, by)
    try:
        yield
    finally:
        setattr(holder, name, original)


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*args: object, **kwargs: object) -> Any:
        raise error

    return fail


def core() -> Any:
    import vllm.v1.engine.core

    return vllm.v1.engine.core


def fail_to_construct(at: str, error: BaseException, module: Any = None) -> BaseException:
    """The exception that leaves a construction which fails at `at`."""
    with replaced(module or core(), at, raising(error)):
        try:
            construct()
        except BaseException as left:
            return left
    raise AssertionError(f"the construction did not fail at {at}")


@contextlib.contextmanager
def releases() -> Iterator[list[str]]:
    """The releases of the engine core's parts, in the order in which they are called."""
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.executor.uniproc_executor import UniProcExecutor
    from vllm.v1.structured_output import StructuredOutputManager

    calls: list[str] = []

    def noting(holder: Any, name: str) -> Any:
        original = getattr(holder, name)

        def call(self: Any) -> Any:
            calls.append(f"{holder.__name__}.{name}")
            return original(self)

        return replaced(holder, name, call)

    with (
        noting(StructuredOutputManager, "clear_backend"),
        noting(UniProcExecutor, "shutdown"),
        noting(Scheduler, "shutdown"),
    ):
        yield calls


WHOLE = ["StructuredOutputManager.clear_backend", "UniProcExecutor.shutdown", "Scheduler.shutdown"]


# ---- the checks ----


def a_failed_construction_leaves_nothing_while_its_exception_is_held() -> list[Any]:
    engine.harden()
    before = holdings()
    seen: list[Any] = []
    for at in ("StructuredOutputManager", "freeze_gc_heap", "enable_envs_cache"):
        for error in (RuntimeError(at), KeyboardInterrupt(at)):
            left = fail_to_construct(at, error)
            seen.append([left is error, settled(before) == before])
    return seen


def the_next_construction_generates_what_upstream_does() -> bool:
    from vllm import LLM, SamplingParams

    def tokens() -> list[int]:
        llm = LLM(
            model=str(MODEL),
            load_format="dummy",
            skip_tokenizer_init=True,
            dtype="float32",
            enforce_eager=True,
            max_model_len=128,
            max_num_seqs=8,
            num_gpu_blocks_override=32,
        )
        sampling = SamplingParams(temperature=0.0, max_tokens=8, ignore_eos=True, detokenize=False)
        (output,) = llm.generate([{"prompt_token_ids": [1, 2, 3]}], sampling, use_tqdm=False)
        llm.llm_engine.engine_core.shutdown()
        return list(output.outputs[0].token_ids)

    upstream = tokens()
    engine.harden()
    fail_to_construct("enable_envs_cache", RuntimeError("late"))
    return tokens() == upstream and len(upstream) == 8


def releases_come_in_the_order_of_the_normal_shutdown() -> list[list[str]]:
    engine.harden()
    with releases() as rolled_back:
        fail_to_construct("maybe_attach_gc_debug_callback", RuntimeError("late"))
    with releases() as shut_down:
        construct().shutdown()
    return [list(rolled_back), list(shut_down)]


def only_what_was_acquired_is_released() -> list[list[str]]:
    engine.harden()
    seen = []
    for at in ("StructuredOutputManager", "init_none_hash"):
        with releases() as calls:
            fail_to_construct(at, RuntimeError(at))
        seen.append(list(calls))
    return seen


def a_scheduler_that_raises_is_not_shut_down() -> list[str]:
    from vllm.v1.core.sched.scheduler import Scheduler

    engine.harden()
    with releases() as calls:
        left = fail_to_construct("__init__", error := ValueError("no scheduler"), Scheduler)
    assert left is error
    return list(calls)


def a_failing_release_neither_stops_the_others_nor_replaces_the_first() -> list[Any]:
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.executor.uniproc_executor import UniProcExecutor
    from vllm.v1.structured_output import StructuredOutputManager

    engine.harden()
    before = holdings()
    seen: list[Any] = []
    for holder, name in (
        (StructuredOutputManager, "clear_backend"),
        (UniProcExecutor, "shutdown"),
        (Scheduler, "shutdown"),
    ):
        for second in (OSError("second"), KeyboardInterrupt("second")):
            with releases() as calls, replaced(holder, name, raising(second)):
                left = fail_to_construct("enable_envs_cache", first := RuntimeError("first"))
            others = [one for one in WHOLE if one != f"{holder.__name__}.{name}"]
            seen.append([left is first, left.__context__ is None, calls == others, settled(before) == before])
    return seen


def a_release_that_hangs_is_given_up() -> list[Any]:
    from vllm.v1.executor.uniproc_executor import UniProcExecutor

    engine.harden(deadline=0.5, grace=0.2)
    free = threading.Event()
    with releases() as calls, replaced(UniProcExecutor, "shutdown", lambda self: free.wait()):
        started = time.monotonic()
        left = fail_to_construct("enable_envs_cache", first := RuntimeError("first"))
        seconds = time.monotonic() - started
    free.set()
    return [left is first, calls == [WHOLE[0], WHOLE[2]], seconds < 30]


def what_the_caller_had_frozen_stays_frozen() -> list[Any]:
    engine.harden()
    construct().shutdown()  # what a process makes once
    mine = [[] for _ in range(1000)]
    gc.collect()
    gc.freeze()
    frozen = gc.get_freeze_count()
    seen: list[Any] = []
    for at in ("StructuredOutputManager", "enable_envs_cache"):
        fail_to_construct(at, RuntimeError(at))
        # Objects that went meanwhile are not frozen any more; none of the engine's has come instead.
        seen.append(abs(gc.get_freeze_count() - frozen) < 1000)
    known = {id(one) for one in gc.get_objects()}
    seen.append(not any(id(one) in known for one in mine))
    return seen


def the_callers_own_process_group_lives_on() -> list[Any]:
    import tempfile

    import torch
    import torch.distributed as dist

    engine.harden()
    with tempfile.TemporaryDirectory() as folder:
        store = dist.FileStore(f"{folder}/store", 1)
        dist.init_process_group("gloo", store=store, rank=0, world_size=1)
        mine = dist.new_group([0], backend="gloo")
        before = holdings()
        seen: list[Any] = []
        for at in ("StructuredOutputManager", "enable_envs_cache"):
            fail_to_construct(at, RuntimeError(at))
            seen.append(settled(before) == before)
        tensor = torch.ones(2)
        dist.all_reduce(tensor, group=mine)
        dist.all_reduce(tensor)
        seen.append(tensor.tolist() == [1.0, 1.0])
        dist.destroy_process_group()
    return seen


def an_engine_that_stands_is_not_touched_by_one_that_fails() -> list[Any]:
    from vllm.distributed import parallel_state

    engine.harden()
    standing = construct()
    group = parallel_state.get_tp_group()
    fail_to_construct("enable_envs_cache", RuntimeError("second engine"))
    seen = [parallel_state.get_tp_group() is group, standing.model_executor.driver_worker is not None]
    standing.shutdown()
    return seen


def an_executor_that_fails_half_way_gives_back_what_it_set_up() -> list[Any]:
    from vllm.v1.worker.cpu_model_runner import CPUModelRunner
    from vllm.v1.worker.worker_base import WorkerWrapperBase

    engine.harden()
    before = holdings()
    seen: list[Any] = []
    for holder, name in (
        (CPUModelRunner, "load_model"),
        (CPUModelRunner, "__init__"),
        (WorkerWrapperBase, "init_worker"),
    ):
        left = fail_to_construct(name, error := MemoryError(name), holder)
        seen.append([left is error, settled(before) == before, "VLLM_DIST_IDENT" not in os.environ])
    return seen


def the_process_is_as_it_was() -> list[bool]:
    import random

    import numpy
    import torch

    engine.harden()
    fail_to_construct("StructuredOutputManager", RuntimeError("once"))  # what a process sets once
    random.seed(7)
    numpy.random.seed(7)
    torch.manual_seed(7)
    os.environ["VLLM_DIST_IDENT"] = "the caller's"
    set_num_threads = torch.set_num_threads
    before = random.getstate(), numpy.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    fail_to_construct("enable_envs_cache", RuntimeError("late"))
    after = random.getstate(), numpy.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    seen = [one == other for one, other in zip(before, after, strict=True)]
    return [
        *seen,
        os.environ["VLLM_DIST_IDENT"] == "the caller's",
        torch.set_num_threads is set_num_threads,
    ]


def in_another_thread_it_is_the_same() -> list[Any]:
    engine.harden()
    before = holdings()
    found: list[BaseException] = []
    thread = threading.Thread(
        target=lambda: found.append(fail_to_construct("enable_envs_cache", RuntimeError("there")))
    )
    thread.start()
    thread.join()
    return [str(found[0]), settled(before) == before]


def a_signal_during_the_rollback_is_held() -> list[Any]:
    from vllm.v1.executor.uniproc_executor import UniProcExecutor

    engine.harden()
    before = holdings()
    shutdown = UniProcExecutor.shutdown

    def interrupted(self: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        shutdown(self)

    seen: list[Any] = []
    with (
        replaced(UniProcExecutor, "shutdown", interrupted),
        replaced(core(), "enable_envs_cache", raising(first := RuntimeError("first"))),
    ):
        try:
            try:
                construct()
            except RuntimeError as left:
                seen += [left is first]
                time.sleep(0)  # after a call the interpreter looks for signals
                seen += ["no interrupt"]
        except KeyboardInterrupt:
            seen.append("then the interrupt")
    seen.append(settled(before) == before)
    return seen


def the_traceback_is_that_of_the_failure() -> list[str]:
    engine.harden()
    left = fail_to_construct("enable_envs_cache", RuntimeError("first"))
    return [frame.name for frame in traceback.extract_tb(left.__traceback__)][1:]


def a_normal_shutdown_is_what_it_was() -> list[Any]:
    engine.harden()
    before = holdings()
    one = construct()
    held = holdings()
    one.shutdown()
    del one
    return [held["frozen"] > 0, held["fds"] > before["fds"], settled(before) == before]


def hardening_is_idempotent_and_comes_off() -> list[Any]:
    EngineCore = core().EngineCore
    upstream = EngineCore.__init__
    answers: list[Any] = []
    threads = [threading.Thread(target=lambda: answers.append(engine.harden())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    hardened = EngineCore.__init__
    seen = [all(answers), len({id(one) for one in answers}), hardened is not upstream]
    seen += [engine.harden() is answers[0], EngineCore.__init__ is hardened]
    seen += [engine.restore(), EngineCore.__init__ is upstream, engine.restore()]
    return seen


def an_unknown_vllm_is_left_as_it_is() -> list[Any]:
    EngineCore = core().EngineCore
    upstream = vars(EngineCore)["__init__"]

    def other(self: Any, config: Any) -> None: ...

    seen: list[Any] = []
    with replaced(EngineCore, "__init__", other):
        answer = engine.harden()
        seen += [bool(answer), EngineCore.__init__ is other, list(answer.missed)]
    from vllm.v1.structured_output import StructuredOutputManager

    clear = StructuredOutputManager.clear_backend
    del StructuredOutputManager.clear_backend
    answer = engine.harden()
    seen += [bool(answer), EngineCore.__init__ is upstream, list(answer.missed)]
    StructuredOutputManager.clear_backend = clear
    seen.append(bool(engine.harden()))
    return seen


def what_somebody_put_over_it_is_left() -> list[Any]:
    EngineCore = core().EngineCore
    engine.harden()

    def theirs(self: Any) -> None: ...

    EngineCore.__init__ = theirs
    return [engine.restore(), EngineCore.__init__ is theirs]


def upstream_leaves_what_the_hardened_one_gives_back() -> dict[str, int]:
    before = holdings()
    left = fail_to_construct("enable_envs_cache", RuntimeError("late"))
    found = holdings()
    del left
    gc.collect()
    assert "engine._core" not in sys.modules
    return {name: found[name] - before[name] for name in before}
