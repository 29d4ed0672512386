"""``engine:EngineCore``: the same construction as ``vllm:EngineCore``, with `engine.harden` on.

What is special about it lies here: which frames are its own, and what a forked copy of a process that has
gloo's threads can and cannot give back.
"""

from __future__ import annotations

import dataclasses
import sys

from faultinject.errors import TargetError
from faultinject.targets import _vllm_process
from faultinject.targets._target import Call, Target
from faultinject.targets._vllm import engine_core as upstream_engine_core
from faultinject.targets._vllm import prepare_engine_core

DEADLINE, GRACE = 2.0, 0.25
"""Seconds that a release may take here: enough for the slowest, 0.9 s, while the machine is busy, and
little enough for a clean-up in which one hangs to end within a sweep's own deadline of 5 s."""

OWN = (
    "engine._core:*",
    "engine._transaction:transactional.*",
    "engine._transaction:OwnershipTransaction.acquire",
    "vllm.v1.engine.core:EngineCore.__init__",
)
"""The wrapper, vLLM's own constructor and what stands for its acquisitions: one constructor, several frames.
The hardened executor is a layer beneath, as the executor always is."""


OWN_OF_PROCESS = (
    *_vllm_process.OWN,
    "engine.background._process:*",
    "engine.background._io:*",
    "engine._transaction:transactional.*",
)


def engine_core() -> Target:
    """The target; vLLM is imported and hardened by its first `prepare`.

    Raises:
        TargetError: vLLM is not installed.
    """
    upstream = upstream_engine_core("engine:EngineCore")
    return dataclasses.replace(
        upstream, prepare=prepare, warm_up=prepare, own=OWN, in_copy=keep_what_needs_threads
    )


def prepare() -> Call:
    """As upstream's, in a process whose vLLM is hardened.

    Raises:
        TargetError: the installed vLLM has a shape that the hardening does not know.
    """
    put_hardening_on("engine:EngineCore")
    return prepare_engine_core()


def engine_core_process() -> Target:
    """``EngineCoreProc`` in the same way; errors as of `engine_core`."""
    name = "engine:EngineCoreProc"

    def prepare_process() -> Call:
        put_hardening_on(name)
        return _vllm_process.prepare()

    return dataclasses.replace(
        _vllm_process.target(name),
        prepare=prepare_process,
        warm_up=prepare,
        own=OWN_OF_PROCESS,
    )


def put_hardening_on(target: str, deadline: float = DEADLINE) -> None:
    """Harden this process's vLLM, for the target of that name.

    Args:
        target: its name.
        deadline: seconds that a release may take.

    Raises:
        TargetError: the installed vLLM has a shape that the hardening does not know.
    """
    from engine import harden

    done = harden(deadline=deadline, grace=GRACE)
    if not done:
        missed = ", ".join(done.missed)
        raise TargetError(f"target '{target}': vLLM {done.version} lacks {missed}, and is left as it is")


def keep_what_needs_threads() -> tuple[str, ...]:
    """Keep gloo's process groups from ending in a copy: they would join threads that it does not have.

    Returns:
        Globs of what a copy cannot give back for that reason, if there are such groups.
    """
    if "torch.distributed" not in sys.modules:
        return ()
    from torch.distributed import distributed_c10d

    groups = list(distributed_c10d._world.pg_map)
    if not groups:
        return ()
    _KEPT.extend(groups)
    return ("fds:*", "sockets:*", "threads:*", "temporary files:*")


_KEPT: list[object] = []
