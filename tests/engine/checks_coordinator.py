"""What is checked of the coordinator of two data-parallel engines; run by `_forge`, hardened or not.

A real coordinator process. Where something fails, it is what comes before the engines are started.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

import psutil

from faultinject.targets import _vllm_trees
from tests.engine.checks import raising, replaced
from tests.engine.checks_background import living, remove, segments

PLANTED = ZeroDivisionError("planted")


def a_launcher_that_fails_after_its_coordinator() -> list[Any]:
    from vllm.v1.engine import utils

    return _failing(utils, "CoreEngineProcManager", raising(PLANTED))


def a_coordinator_that_is_given_up() -> list[Any]:
    from vllm.v1.engine.coordinator import DPCoordinator

    wait = DPCoordinator._wait_for_zmq_addrs

    def interrupted(self: Any, pipe: Any) -> Any:
        wait(self, pipe)
        raise KeyboardInterrupt("planted")

    return _failing(DPCoordinator, "_wait_for_zmq_addrs", interrupted)


def a_coordinator_that_is_shut_down() -> list[Any]:
    """The same as of `_failing`, of one that was constructed, shut down twice."""
    from vllm.v1.engine.coordinator import DPCoordinator

    before = segments()
    coordinator = DPCoordinator(_config().parallel_config)
    up = [one.name() for one in _coordinators()]
    coordinator.shutdown()
    coordinator.shutdown()
    return [up, living(_coordinators(), 5.0), sorted(segments() - before)]


def two_engines() -> list[Any]:
    """A whole start.

    Returns:
        How many tokens were generated; what lives on and which names have stayed after the shutdown.
    """
    from vllm import SamplingParams
    from vllm.v1.engine.async_llm import AsyncLLM

    config = _config()
    # Each engine has a core of its own.
    os.environ["VLLM_CPU_OMP_THREADS_BIND"] = "0|1"
    before = segments()

    async def generated() -> int:
        llm = AsyncLLM.from_vllm_config(config)
        try:
            sampling = SamplingParams(temperature=0.0, max_tokens=4, ignore_eos=True, detokenize=False)
            prompt: Any = {"prompt_token_ids": [1, 2, 3]}
            async for output in llm.generate(prompt, sampling, "one"):
                tokens = len(output.outputs[0].token_ids)
            return tokens
        finally:
            llm.shutdown()

    tokens = asyncio.run(generated())
    return [tokens, living(psutil.Process().children(recursive=True), 5.0), sorted(segments() - before)]


def _failing(holder: Any, name: str, by: Any) -> list[Any]:
    """A start of two engines in which `name` is replaced by what makes it fail.

    Returns:
        What the caller was told; and, while it holds the exception, which processes live and which names have
        stayed.
    """
    from vllm.v1.engine.async_llm import AsyncLLM

    config = _config()
    before = segments()
    with replaced(holder, name, by):
        try:
            AsyncLLM.from_vllm_config(config)
        except BaseException as error:
            alive = living(_coordinators(), 0.0)
            left = sorted(segments() - before)
            remove(_coordinators(), left)
            return [str(error), alive, left]
    raise AssertionError("the construction did not fail")


def _config() -> Any:
    from vllm.engine.arg_utils import AsyncEngineArgs

    target = _vllm_trees.async_llm()
    os.environ.update(target.environment)
    os.environ[_vllm_trees.METHOD] = "fork"
    target.warm_up()  # type: ignore[misc]
    arguments = {**_vllm_trees._arguments(1), "data_parallel_size": 2}
    return AsyncEngineArgs(**arguments).create_engine_config()


def _coordinators() -> list[psutil.Process]:
    return [one for one in psutil.Process().children(recursive=True) if "Coord" in one.name()]
