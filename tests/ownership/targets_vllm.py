"""vLLM's engine core, hardened, around parts that show what a rollback did to each. Needs vLLM.

What a rollback leaves out is a descriptor that stays open, and the target says so by itself, as that of
`targets_frozen` does: a sweep looks at the collector at every point, which takes too long here. The parts
that 0.32 gives back by itself are those of an earlier vLLM, or fail once they are given back. One of them
stands for what cannot exist here: a thread's current device.
"""

from __future__ import annotations

import gc
import logging
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

from faultinject.targets._vllm import environment, prepare_engine_core
from tests.ownership.targets import Channel, configure

os.environ.update(environment())

import numpy as np
import psutil
import torch
import vllm.envs as envs
from vllm.distributed import parallel_state
from vllm.v1.engine import core
from vllm.v1.executor.uniproc_executor import UniProcExecutor
from vllm.v1.structured_output import StructuredOutputManager
from vllm.v1.worker.cpu_worker import CPUWorker
from vllm.v1.worker.gpu_worker import Worker

import engine._core
from engine import harden

FEW = 20_000
"""Objects that come and go meanwhile, of the tool that looks on and of vLLM."""

_here = threading.local()


def _use_the_device_of(thread: str) -> None:
    _here.device = thread


class Manager(StructuredOutputManager):  # type: ignore[misc]
    """Its ``clear_backend`` leaves the thread pool, as up to 0.30, and works on the caller's device alone."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.channel = Channel()
        self.executor_for_fillmask = ThreadPoolExecutor(1)
        self.executor_for_fillmask.submit(int).result()

    def clear_backend(self) -> None:
        if getattr(_here, "device", "") == "the caller's":
            self.channel.close()


class ReceiverCache(Channel):
    """One that a multimodal model would have."""

    def __init__(self, config: Any) -> None:
        super().__init__()

    clear_cache = Channel.close


class Executor(UniProcExecutor):  # type: ignore[misc]
    """Its worker process is not asked to end: its ``shutdown`` waits until somebody has ended it."""

    def _init_executor(self) -> None:
        super()._init_executor()
        child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
        self.workers = [SimpleNamespace(proc=child)]

    def shutdown(self) -> None:
        super().shutdown()
        self.workers[0].proc.wait()


def _instead(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    setattr(owner, name, make(getattr(owner, name)))


def _with_a_channel(init_device: Any) -> Any:
    def init(self: Any) -> None:
        self.channel = Channel()
        init_device(self)
        for _ in range(2):
            torch.distributed.new_group()

    return init


def _closing_it(shutdown: Any) -> Any:
    def shut(self: Any) -> None:
        self.channel.close()
        shutdown(self)

    return shut


_COMPLAINTS = ("a coordinator has ended", "a group has ended")
"""Of a rollback alone: in a normal shutdown, vLLM's own, one failure would suppress the rest."""


def _rolls_back() -> bool:
    return sys._getframe(2).f_globals["__name__"].startswith("engine.")


def _complaining(destroy: Any) -> Any:
    """Of one coordinator in several, ends the groups and then fails, before it has let go of them."""

    def end(self: Any) -> None:
        if self.unique_name.startswith("tp") and _rolls_back():
            for group in (self.device_group, self.cpu_group):
                torch.distributed.destroy_process_group(group)
            raise RuntimeError(_COMPLAINTS[0])
        destroy(self)

    return end


def _complaining_of_one(destroy: Any) -> Any:
    """Ends a group, then fails if that was one by itself, which no coordinator had."""

    def end(group: Any = None) -> None:
        destroy(group)
        if group is not None and _rolls_back():
            raise RuntimeError(_COMPLAINTS[1])

    return end


class _Hears(logging.Handler):
    """Closes a channel once it has heard of both kinds of process groups that failed to end, and no other.

    It keeps what it hears, with the exceptions and their frames, as pytest's does.
    """

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self.channel = channel
        self.kept: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(record)
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, ExceptionGroup) and {str(one) for one in error.exceptions} == set(_COMPLAINTS):
            self.channel.close()


core.StructuredOutputManager = Manager
core.engine_receiver_cache_from_config = ReceiverCache
_instead(CPUWorker, "init_device", _with_a_channel)
_instead(CPUWorker, "shutdown", _closing_it)
_instead(parallel_state.GroupCoordinator, "destroy", _complaining)
_instead(torch.distributed, "destroy_process_group", _complaining_of_one)
engine._core.device_of_this_thread = lambda: lambda: _use_the_device_of("the caller's")
if not harden(deadline=3.0, grace=0.25):
    raise RuntimeError("this vLLM is not known")
_CONSTRUCT, (_CONFIG, _), _KEYWORDS = prepare_engine_core()
logging.getLogger("engine").propagate = False


class GivenBack:
    """Constructs an engine core of these parts, and gives it back; then fails to, at two places.

    Raises:
        RuntimeError: something is not as it was after a failure; then nothing of this can be swept.
    """

    def __init__(self) -> None:
        _use_the_device_of("the caller's")
        frozen = gc.get_freeze_count()
        made = _CONSTRUCT(_CONFIG, Executor, **_KEYWORDS)
        if gc.get_freeze_count() - frozen < FEW:
            raise RuntimeError("nothing was frozen by a construction that works")
        made.model_executor.workers[0].proc.kill()
        made.shutdown()
        made.structured_output_manager.executor_for_fillmask.shutdown()
        made.mm_receiver_cache.clear_cache()
        # Once as a process has it that never constructed, then as one that did.
        os.environ.pop("VLLM_DIST_IDENT", None)
        self._fail(Worker, "load_model")
        os.environ["VLLM_DIST_IDENT"] = "an earlier one"
        # By the caller: vLLM's normal shutdown has unfrozen what was frozen before it.
        gc.collect()
        gc.freeze()
        self._fail(Worker, "load_model")
        # Before the construction's own freeze, and after it.
        self._fail(core, "resolve_kv_cache_block_sizes")
        self._fail(core, "enable_envs_cache")
        gc.unfreeze()
        # Beside the caller's own process groups: of the construction's, some belong to no coordinator.
        torch.distributed.init_process_group(
            "gloo", store=torch.distributed.HashStore(), rank=0, world_size=1
        )
        own = torch.distributed.new_group()
        self._fail(Worker, "load_model")
        torch.distributed.all_reduce(torch.ones(1), group=own)
        torch.distributed.destroy_process_group()
        del own
        self.size = configure()

    def close(self) -> None: ...

    def _fail(self, owner: Any, name: str) -> None:
        """Construct once, with ``owner.name`` failing after it has done its work."""
        for draw in (random.random, np.random.random, lambda: torch.rand(1)):
            draw()
        logger = logging.getLogger("engine")
        links: list[list[int]] = [[] for _ in range(2 * FEW)]
        before, held = _state(), _held()
        told = Channel()
        hears = _Hears(told)
        logger.addHandler(hears)
        frozen = gc.get_freeze_count()
        right = getattr(owner, name)
        setattr(owner, name, _failing(right))
        try:
            _CONSTRUCT(_CONFIG, Executor, **_KEYWORDS)
        except ZeroDivisionError:
            # While the exception is held, and with it every frame.
            differs = [key for key, value in _state().items() if value != before[key]]
            changed = gc.get_freeze_count() - frozen
            if abs(changed) > FEW or not all(map(gc.is_tracked, links)):
                differs.append(f"GC freeze by {changed:+}")
            now = _held(after=held)
            differs += [f"{key} {held[key]} -> {value}" for key, value in now.items() if value > held[key]]
            if differs:
                raise RuntimeError(f"not as it was when {name} had failed: {', '.join(differs)}") from None
        else:
            raise RuntimeError(f"nothing failed: {name} is not called by this vLLM")
        finally:
            setattr(owner, name, right)
            logger.removeHandler(hears)


def _failing(right: Callable[..., Any]) -> Callable[..., Any]:
    def fail(*args: Any, **kwargs: Any) -> None:
        right(*args, **kwargs)
        # As that of anything which fails while it uses them: the traceback keeps its frame.
        in_use = _coordinators()
        raise ZeroDivisionError(f"with {len(in_use)} coordinators in use")

    fail.__qualname__ = right.__qualname__
    return fail


def _state() -> dict[str, object]:
    return {
        "random": random.getstate(),
        "numpy": np.random.get_state()[1].tobytes(),  # type: ignore[union-attr]
        "torch": torch.get_rng_state().numpy().tobytes(),
        "set_num_threads": torch.set_num_threads,
        "VLLM_DIST_IDENT": os.environ.get("VLLM_DIST_IDENT"),
        "environment cache": envs._is_envs_cache_enabled(),
    }


def _coordinators() -> list[object]:
    values = vars(parallel_state).values()
    return [one for one in values if isinstance(one, parallel_state.GroupCoordinator)]


def _held(after: dict[str, int] | None = None) -> dict[str, int]:
    """Numbers of what there is; once the threads are no more than in `after`, or their time is over."""
    this = psutil.Process()
    end = time.monotonic() + 3.0
    while True:
        found = {
            "descriptors": this.num_fds(),
            "threads": this.num_threads(),
            "processes": len(this.children()),
            "coordinators": len(_coordinators()),
        }
        if after is None or found["threads"] <= after["threads"] or time.monotonic() > end:
            return found
        time.sleep(0.01)
