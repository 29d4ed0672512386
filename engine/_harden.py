"""Putting the hardening on the installed vLLM, and taking it off."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from engine import lifeline
from engine._shape import FAMILY, missing_from_vllm, vllm_version
from engine._transaction import DEADLINE, GRACE, check_seconds

_logger = logging.getLogger("engine")
_lock = threading.RLock()


@dataclass(frozen=True)
class Hardening:
    """What `harden` did; true if this process's vLLM is hardened.

    Attributes:
        hardened: whether it is.
        version: of the vLLM that was found, ``""`` if there is none.
        missed: what this vLLM lacks of the shape that the hardening expects; then nothing was changed.
        replaced: ``module:name`` of each attribute that was replaced.
    """

    hardened: bool
    version: str = ""
    missed: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.hardened


@dataclass(frozen=True)
class _Replacement:
    holder: Any
    name: str
    original: Any
    ours: Any

    @property
    def place(self) -> str:
        if isinstance(self.holder, ModuleType):
            return f"{self.holder.__name__}:{self.name}"
        return f"{self.holder.__module__}:{self.holder.__qualname__}.{self.name}"


_installed: list[_Replacement] = []
_current: Hardening | None = None
_watching = False
"""Whether the lifeline of what multiprocessing starts is this module's to take back."""


def harden(*, deadline: float = DEADLINE, grace: float = GRACE) -> Hardening:
    """Make the construction of vLLM's EngineCore, and of its executors, a transaction, in this process.

    Imports vLLM. Asked for again it changes nothing and returns the same, whatever the arguments. Engine
    cores that exist already are not touched, and a construction that is under way in another thread ends as
    it began.

    Args:
        deadline: seconds that each release of a rollback may take.
        grace: seconds for its escalation, and for it to come back after that.

    Returns:
        What was done. Where the installed vLLM has another shape than the known ones, nothing is changed,
        what was missed is logged as a warning, and the value is false.

    Raises:
        TypeError, ValueError: a time is no number of seconds.
    """
    global _current, _watching
    check_seconds("harden: deadline", deadline)
    check_seconds("harden: grace", grace)
    # Before the lock: a forked child has it as another thread of its parent may have left it.
    found = _current
    if found is not None:
        return found
    with _lock:
        if _current is not None:
            return _current
        version = vllm_version()
        if not version:
            return Hardening(False, missed=("an installed vLLM",))
        missed = missing_from_vllm()
        if missed:
            _logger.warning(
                "vLLM %s was not hardened: it lacks %s (known: %s). Nothing was changed.",
                version,
                ", ".join(missed),
                FAMILY,
            )
            return Hardening(False, version, missed)
        replacements = _replacements({"deadline": deadline, "grace": grace})
        for one in replacements:
            setattr(one.holder, one.name, one.ours)
        # Starts nothing until a process is started.
        _watching = lifeline.watch_multiprocessing()
        _installed[:] = replacements
        _current = Hardening(True, version, (), tuple(one.place for one in replacements))
        return _current


def restore() -> bool:
    """Take the hardening off, in this process; engine cores that exist are not touched.

    Returns:
        Whether everything is as before `harden`. False where somebody has since put something of their own in
        place of what was replaced: that is left alone, and logged.
    """
    global _current, _watching
    with _lock:
        whole = True
        if _watching:
            lifeline.unwatch_multiprocessing()
            _watching = False
        for one in _installed:
            if vars(one.holder).get(one.name) is one.ours:
                setattr(one.holder, one.name, one.original)
            else:
                whole = False
                _logger.warning("%s was replaced since it was hardened, and is left as it is", one.place)
        _installed.clear()
        _current = None
        return whole


def original(place: str) -> Any:
    """The function that vLLM had at `place`, as of `Hardening.replaced`, before `harden`.

    Raises:
        LookupError: nothing is replaced there.
    """
    for one in _installed:
        if one.place == place:
            return getattr(one.original, "__func__", one.original)
    raise LookupError(f"{place} is not replaced in this process")


def _replacements(options: dict[str, Any]) -> list[_Replacement]:
    from vllm.config.scheduler import SchedulerConfig
    from vllm.distributed.device_communicators.shm_broadcast import MessageQueue
    from vllm.entrypoints.llm import LLM
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.engine import core_client
    from vllm.v1.engine import utils as launching
    from vllm.v1.engine.async_llm import AsyncLLM
    from vllm.v1.engine.coordinator import DPCoordinator
    from vllm.v1.engine.core import EngineCore, EngineCoreProc
    from vllm.v1.engine.core_client import (
        AsyncMPClient,
        BackgroundResources,
        DPAsyncMPClient,
        DPLBAsyncMPClient,
        MPClient,
        SyncMPClient,
    )
    from vllm.v1.engine.llm_engine import LLMEngine
    from vllm.v1.executor.multiproc_executor import MultiprocExecutor, WorkerProc
    from vllm.v1.executor.uniproc_executor import UniProcExecutor

    from engine._core import hardened_init, recording_get_scheduler_cls
    from engine._entry_points import hardened_engine_init, hardened_factory, hardened_llm_init
    from engine._executors import hardened_init_executor
    from engine._scheduler import hardened_scheduler_init
    from engine.background import _client, _coordinator
    from engine.background._launcher import hardened_manager_init, hardened_socket, hardened_wait
    from engine.background._process import hardened_process_init, run_engine_core
    from engine.multiproc import _executor as _multiproc
    from engine.multiproc._queues import hardened_attachment, hardened_dequeue, hardened_queue_init
    from engine.multiproc._worker import hardened_worker_init, hardened_worker_shutdown, worker_main

    constructor = vars(EngineCore)["__init__"]
    get_scheduler_cls = vars(SchedulerConfig)["get_scheduler_cls"]
    return [
        # What the constructor asks is in place before the constructor is.
        _Replacement(
            SchedulerConfig,
            "get_scheduler_cls",
            get_scheduler_cls,
            recording_get_scheduler_cls(get_scheduler_cls, constructor),
        ),
        _replaced(Scheduler, "__init__", lambda upstream: hardened_scheduler_init(upstream, options)),
        _replaced(
            UniProcExecutor, "_init_executor", lambda upstream: hardened_init_executor(upstream, options)
        ),
        _replaced(
            MultiprocExecutor,
            "_init_executor",
            lambda upstream: _multiproc.hardened_init_executor(
                upstream, MultiprocExecutor.start_worker_monitor, options
            ),
        ),
        _replaced(MultiprocExecutor, "shutdown", _multiproc.hardened_shutdown),
        _replaced(MultiprocExecutor, "collective_rpc", _multiproc.hardened_rpc),
        _replaced(MessageQueue, "__init__", lambda upstream: hardened_queue_init(upstream, options)),
        _replaced(
            MessageQueue, "create_from_handle", lambda upstream: hardened_attachment(upstream, options)
        ),
        _replaced(MessageQueue, "dequeue", hardened_dequeue),
        _replaced(WorkerProc, "__init__", lambda upstream: hardened_worker_init(upstream, options)),
        _replaced(WorkerProc, "shutdown", hardened_worker_shutdown),
        _replaced(WorkerProc, "worker_main", lambda upstream: staticmethod(worker_main)),
        _replaced(EngineCore, "__init__", lambda upstream: hardened_init(upstream, options)),
        _replaced(EngineCoreProc, "__init__", lambda upstream: hardened_process_init(upstream, options)),
        _replaced(EngineCoreProc, "run_engine_core", lambda upstream: staticmethod(run_engine_core)),
        _replaced(
            launching.CoreEngineProcManager,
            "__init__",
            lambda upstream: hardened_manager_init(upstream, options),
        ),
        *(
            _replaced(kind, "__init__", lambda upstream: _client.hardened_client_init(upstream, options))
            for kind in (MPClient, SyncMPClient, AsyncMPClient, DPAsyncMPClient, DPLBAsyncMPClient)
        ),
        _replaced(MPClient, "shutdown", _client.hardened_client_shutdown),
        _replaced(MPClient, "start_engine_core_monitor", _client.hardened_monitor),
        _replaced(MPClient, "ensure_alive", _client.hardened_ensure_alive),
        _replaced(MPClient, "_format_exception", _client.hardened_format),
        _replaced(BackgroundResources, "__call__", _client.hardened_cleanup),
        _replaced(
            DPCoordinator,
            "__init__",
            lambda upstream: _coordinator.hardened_coordinator_init(upstream, options),
        ),
        _replaced(DPCoordinator, "shutdown", _coordinator.hardened_coordinator_shutdown),
        *(
            _replaced(
                module,
                "launch_core_engines",
                lambda upstream: _coordinator.hardened_launch(upstream, options),
            )
            # And where it was imported from there by now.
            for module in (launching, core_client, sys.modules.get("vllm.entrypoints.cli.serve"))
            if module is not None
        ),
        _replaced(launching, "wait_for_engine_startup", hardened_wait),
        _replaced(launching, "zmq_socket_ctx", hardened_socket),
        _replaced(LLM, "__init__", lambda upstream: hardened_llm_init(upstream, options)),
        *(
            _replaced(kind, "__init__", lambda upstream: hardened_engine_init(upstream, options))
            for kind in (LLMEngine, AsyncLLM)
        ),
        *(
            _replaced(kind, name, lambda upstream: hardened_factory(upstream, options))
            for kind in (LLMEngine, AsyncLLM)
            for name in ("from_engine_args", "from_vllm_config")
        ),
        _replaced(AsyncMPClient, "reset_mm_cache_async", _client.hardened_reset),
    ]


def _replaced(holder: Any, name: str, ours: Callable[[Any], Any]) -> _Replacement:
    upstream = vars(holder)[name]
    return _Replacement(holder, name, upstream, ours(upstream))
