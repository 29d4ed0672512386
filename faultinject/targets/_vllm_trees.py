"""vLLM's entry points with the processes they start, on a CPU: ``vllm:LLM``, ``vllm:LLM-tp2``,
``vllm:AsyncLLM``, ``vllm:MultiprocExecutor``.

Fault points are milestones. Within the tree processes are forked, so that a case takes seconds and not the
half minute in which each would import vLLM anew; set ``VLLM_WORKER_MULTIPROC_METHOD=spawn`` to see it as vLLM
does it by default on a CPU.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import warnings
from collections.abc import Callable
from typing import Any

from faultinject.errors import TargetError
from faultinject.targets._target import Call, Target
from faultinject.targets._vllm import KV_CACHE_BLOCKS, MODEL, environment, vllm_version
from faultinject.trees import Milestone

METHOD = "VLLM_WORKER_MULTIPROC_METHOD"

ROLES = {
    "engine": "process:EngineCore*",
    "worker[*]": "process:VllmWorker-*",
    "coordinator": "process:VLLM_DP_Coordinator",
}

MILESTONES = (
    Milestone("caller", "processes started", "vllm.v1.engine.utils:CoreEngineProcManager.__init__"),
    Milestone("engine", "handshake", "vllm.v1.engine.core:EngineCoreProc.startup_handshake"),
    Milestone("engine", "executor acquired", "vllm.v1.executor.abstract:Executor.__init__"),
    Milestone("engine", "KV caches", "vllm.v1.engine.core:EngineCore._initialize_kv_caches"),
    Milestone("engine", "scheduler", "vllm.v1.core.sched.scheduler:Scheduler.__init__"),
    Milestone("engine", "GC freeze", "vllm.v1.engine.core:freeze_gc_heap"),
    Milestone("engine", "threads started", "vllm.v1.engine.core:EngineCoreProc.__init__"),
    Milestone("engine", "ready", "vllm.v1.engine.core:EngineCoreProc.run_busy_loop", "before"),
    Milestone("worker", "device", "vllm.v1.worker.worker_base:WorkerWrapperBase.init_device"),
    Milestone("worker", "model loaded", "vllm.v1.worker.gpu_worker:Worker.load_model"),
    Milestone("worker", "ready", "vllm.v1.executor.multiproc_executor:WorkerProc.worker_busy_loop", "before"),
)
"""The moments of a start-up. Functions rather than lines, so that each has a before and an after."""

CLIENT = "vllm.v1.engine.core_client:*Client.*"
"""Frames of the client of an engine's process: parts of each entry point's own construction. What starts the
process is beneath it: between the two is a frame of `contextlib`."""

IGNORE = (
    # Kept for the next start by design: compiled code, and what the libraries cache.
    "temporary files:torchinductor_*",
    "temporary files:*/.cache/*",
)


def llm() -> Target:
    """One engine process, the executor within it.

    Raises:
        TargetError: vLLM is not installed.
    """
    return _llm("vllm:LLM", 1)


def llm_tp2() -> Target:
    """One engine process and two workers; errors as of `llm`."""
    return _llm("vllm:LLM-tp2", 2)


def async_llm() -> Target:
    """The asynchronous entry point, with one engine process; errors as of `llm`."""

    def prepare() -> Call:
        quiet()
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        return AsyncLLM.from_engine_args, (AsyncEngineArgs(**_arguments(1)),), {}

    own = ("vllm.v1.engine.async_llm:AsyncLLM.*", CLIENT)
    return tree("vllm:AsyncLLM", prepare, "shutdown", 1, own)


def multiproc_executor() -> Target:
    """The executor alone, started by the caller, with two workers; errors as of `llm`."""

    def prepare() -> Call:
        quiet()
        from vllm.engine.arg_utils import EngineArgs
        from vllm.v1.executor.multiproc_executor import MultiprocExecutor

        config = EngineArgs(**_arguments(2), distributed_executor_backend="mp").create_engine_config()
        return MultiprocExecutor, (config,), {}

    own = (
        "vllm.v1.executor.abstract:Executor.__init__",
        "vllm.v1.executor.multiproc_executor:MultiprocExecutor.*",
    )
    return tree("vllm:MultiprocExecutor", prepare, "shutdown", 2, own)


def _llm(name: str, tensor_parallel: int) -> Target:
    def prepare() -> Call:
        quiet()
        from vllm import LLM

        return LLM, (), _arguments(tensor_parallel)

    own = ("vllm.entrypoints.llm:LLM.__init__", "vllm.v1.engine.llm_engine:LLMEngine.*", CLIENT)
    return tree(name, prepare, "faultinject.targets._vllm_trees:give_back", tensor_parallel, own)


def quiet() -> None:
    """Leave out warnings of vLLM's that every start makes."""
    # By category and module, so that repeating it leaves one entry.
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"vllm\.")


def _arguments(tensor_parallel: int) -> dict[str, Any]:
    return {
        "model": str(MODEL),
        "load_format": "dummy",
        "skip_tokenizer_init": True,
        "dtype": "float32",
        "enforce_eager": True,
        "max_model_len": 128,
        "max_num_seqs": 8,
        "num_gpu_blocks_override": KV_CACHE_BLOCKS,
        "tensor_parallel_size": tensor_parallel,
        "disable_log_stats": True,
    }


def tree(
    name: str,
    prepare: Callable[[], Call],
    release: str,
    tensor_parallel: int,
    own: tuple[str, ...],
    milestones: tuple[Milestone, ...] = MILESTONES,
) -> Target:
    """A target that starts an engine process.

    Raises:
        TargetError: vLLM is not installed.
    """
    if importlib.util.find_spec("vllm") is None:
        raise TargetError(
            f"target '{name}' needs vLLM, which is not installed here: "
            "run `pip install 'faultinject[vllm]'`, or `tox run -e sweep`, which brings its own"
        )
    return Target(
        name=name,
        prepare=prepare,
        release=release,
        version=vllm_version(),
        environment={
            **environment(),
            "VLLM_ENABLE_V1_MULTIPROCESSING": "1",
            METHOD: os.environ.get(METHOD, "fork"),
            # One NUMA node is refused to two ranks unless each is told its cores.
            "VLLM_CPU_OMP_THREADS_BIND": "|".join(str(rank) for rank in range(tensor_parallel)),
        },
        ignore=IGNORE,
        warm_up=import_what_a_start_imports,
        own=own,
        roles=ROLES,
        milestones=milestones,
    )


def give_back(llm: Any) -> None:
    """End the engine of an `LLM`, which has no such method of its own."""
    llm.llm_engine.engine_core.shutdown()


def import_what_a_start_imports() -> None:
    """Import the modules that caller, engine and workers import on their way; no thread is started by it."""
    import importlib

    for module in {m.at.partition(":")[0] for m in MILESTONES} | {
        "vllm.entrypoints.llm",
        "vllm.v1.worker.cpu_worker",
        "vllm.v1.worker.cpu_model_runner",
        "vllm.v1.attention.backends.cpu_attn",
        "vllm.model_executor.models.llama",
        "vllm.model_executor.model_loader",
        "vllm.v1.engine.core_client",
        "vllm.v1.engine.llm_engine",
    }:
        importlib.import_module(module)
    _keep_start_method()


def _keep_start_method() -> None:
    """Let the start method stay as the environment had it: on a CPU vLLM sets it to spawn with each config.

    This is the one thing that is not as vLLM has it, and only where fork was asked for.
    """
    from vllm.platforms.cpu import CpuPlatform

    asked = os.environ.get(METHOD, "")
    if asked != "fork" or hasattr(CpuPlatform.check_and_update_config, "__wrapped__"):
        return
    real = CpuPlatform.check_and_update_config.__func__

    @functools.wraps(real)
    def check_and_update_config(cls: Any, vllm_config: Any) -> None:
        real(cls, vllm_config)
        os.environ[METHOD] = asked

    CpuPlatform.check_and_update_config = classmethod(check_and_update_config)
