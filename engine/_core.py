"""``EngineCore.__init__`` as a transaction around vLLM's own.

vLLM's code object is run as it is, with other globals: the names by which it acquires things are bound to
recorders there. So nothing of vLLM's module changes, constructions in several threads do not know of each
other, and a name that somebody else has replaced in the module is still the one that is called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import FunctionType
from typing import Any

from engine._executors import RELEASES, stop_workers
from engine._gc_state import GcState
from engine._transaction import OwnershipTransaction, Release, transactional

ORDER = (
    "caller's GC freeze",
    "structured output manager",
    "model executor",
    "scheduler",
    "GC state",
    "environment cache",
)
"""The order of ``EngineCore.shutdown``, whose last step also turns the environment cache off."""

CONSTRUCTED = "_engine_core_is_constructed"

_RECORDER = "__ownership_recorder__"


class _Recorder:
    """Stands for a constructor: calls it, and has the result owned."""

    __slots__ = ("construct", "escalate", "name", "release", "transaction")

    def __init__(
        self,
        transaction: OwnershipTransaction,
        name: str,
        construct: Callable[..., Any],
        release: Release | Sequence[Release],
        escalate: Callable[[Any], object] | None = None,
    ) -> None:
        self.transaction = transaction
        self.name = name
        self.construct = construct
        self.release = release
        self.escalate = escalate

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.transaction.acquire(
            self.name, self.construct, *args, release=self.release, escalate=self.escalate, keywords=kwargs
        )


def hardened_init(upstream: FunctionType, options: dict[str, Any]) -> Callable[..., None]:
    """``EngineCore.__init__`` that gives back what it owned when it fails.

    Args:
        upstream: vLLM's own.
        options: of the `OwnershipTransaction`.
    """

    @transactional("EngineCore", order=ORDER, prepare=device_of_this_thread, **options)
    def __init__(
        self: Any,
        transaction: OwnershipTransaction,
        vllm_config: Any,
        executor_class: Any,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        names = upstream.__globals__
        gc_state = GcState()
        transaction.own("caller's GC freeze", gc_state, release="before_unfreeze")
        # Owned before they are acquired: an interrupt within the freeze leaves a frozen heap and no result,
        # and their releases look before they act.
        transaction.own("GC state", gc_state, release="restore")
        transaction.own("environment cache", names, release=_restorer_of_envs_cache())

        def record(scheduler_class: Any) -> _Recorder:
            return _Recorder(transaction, "scheduler", scheduler_class, "shutdown")

        def freeze() -> None:
            gc_state.before_freeze()
            names["freeze_gc_heap"]()

        bound = {**names, _RECORDER: record, "freeze_gc_heap": freeze}
        bound["StructuredOutputManager"] = _Recorder(
            transaction,
            "structured output manager",
            names["StructuredOutputManager"],
            ("clear_backend", shut_pools_down),
        )
        if "engine_receiver_cache_from_config" in names:
            bound["engine_receiver_cache_from_config"] = _Recorder(
                transaction,
                "multimodal receiver cache",
                names["engine_receiver_cache_from_config"],
                clear_cache,
            )
        constructor = FunctionType(
            upstream.__code__, bound, upstream.__name__, upstream.__defaults__, upstream.__closure__
        )
        constructor.__kwdefaults__ = upstream.__kwdefaults__
        executor = _Recorder(transaction, "model executor", executor_class, RELEASES, stop_workers)
        constructor(self, vllm_config, executor, *args, **kwargs)
        # For whoever constructs more around it, and fails. No call: each is a place at which a sweep fails.
        self._engine_core_is_constructed = True

    return __init__


def recording_get_scheduler_cls(
    upstream: Callable[[Any], Any], asked_by: FunctionType
) -> Callable[[Any], Any]:
    """``SchedulerConfig.get_scheduler_cls`` that gives the constructor of an engine core a recorder.

    Whoever else asks gets the class.

    Args:
        asked_by: vLLM's constructor, known by its code.
    """

    def get_scheduler_cls(self: Any) -> Any:
        found = upstream(self)
        caller = sys._getframe(1)
        record = caller.f_globals.get(_RECORDER) if caller.f_code is asked_by.__code__ else None
        return found if record is None else record(found)

    return get_scheduler_cls


def shut_pools_down(manager: Any) -> None:
    """End the thread pools of a structured-output manager. Up to 0.30 its ``clear_backend`` leaves them."""
    for name in ("executor", "executor_for_fillmask"):
        pool = getattr(manager, name, None)
        if isinstance(pool, ThreadPoolExecutor):
            pool.shutdown(wait=True, cancel_futures=True)


def clear_cache(cache: Any) -> None:
    """Empty a multimodal receiver cache; a model without inputs other than text has none."""
    if cache is not None:
        cache.clear_cache()


def device_of_this_thread() -> Callable[[], object] | None:
    """What makes another thread use the device that this one uses; None without an initialised device.

    The current device belongs to a thread, in CUDA and in torch. Not tried on a device: there was none.
    """
    import torch

    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if accelerator is None or not torch.get_device_module(accelerator).is_initialized():
        return None
    index = torch.accelerator.current_device_index()
    return lambda: torch.accelerator.set_device_index(index)


def _restorer_of_envs_cache() -> Callable[[Any], None]:
    """Turns vLLM's cache of environment variables off, unless it is on already."""
    import vllm.envs as envs

    was_on = envs._is_envs_cache_enabled()

    def restore_envs_cache(_: Any) -> None:
        if not was_on:
            envs.disable_envs_cache()

    return restore_envs_cache
