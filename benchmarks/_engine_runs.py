"""What the benchmarks of the hardened engine share: the tiny model, and a look at the process."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from typing import Any

import psutil

from faultinject.targets._vllm import MODEL, environment, prepare_engine_core


def set_up() -> None:
    """Set the environment; to be called before vLLM is imported."""
    os.environ.update(environment())


def construct() -> Any:
    """An engine core with the tiny model, executor in this process."""
    call, arguments, keywords = prepare_engine_core()
    return call(*arguments, **keywords)


def make_llm() -> Any:
    """An `LLM` with the tiny model and its engine core in this process."""
    from vllm import LLM

    return LLM(
        model=str(MODEL),
        load_format="dummy",
        skip_tokenizer_init=True,
        dtype="float32",
        enforce_eager=True,
        max_model_len=128,
        max_num_seqs=8,
        num_gpu_blocks_override=32,
        disable_log_stats=True,
    )


def generate(llm: Any, tokens: int = 32) -> tuple[list[int], float]:
    """Greedy tokens for a fixed prompt, and the seconds that they took."""
    from vllm import SamplingParams

    parameters = SamplingParams(temperature=0.0, max_tokens=tokens, ignore_eos=True, detokenize=False)
    prompt = {"prompt_token_ids": list(range(1, 17))}
    started = time.perf_counter()
    (output,) = llm.generate([prompt], parameters, use_tqdm=False)
    return list(output.outputs[0].token_ids), time.perf_counter() - started


def holdings() -> dict[str, int]:
    """What this process holds, counted by the kernel, and the collector's freeze count."""
    me = psutil.Process()
    return {
        "fds": me.num_fds(),
        "threads": me.num_threads(),
        "children": len(me.children(recursive=True)),
        "/dev/shm": len(os.listdir("/dev/shm")),
        "frozen": gc.get_freeze_count(),
    }


def settled(wanted: Callable[[dict[str, int]], bool], limit: float = 5.0) -> dict[str, int]:
    """`holdings`, once as wanted or after `limit` seconds: a thread ends a moment after it was joined."""
    until = time.monotonic() + limit
    while True:
        found = holdings()
        if wanted(found) or time.monotonic() > until:
            return found
        time.sleep(0.01)


def resident() -> int:
    """Bytes of memory resident in this process."""
    return int(psutil.Process().memory_info().rss)
