"""Twenty starts in one process whose scheduler fails, with two worker processes; then one that generates.

    python benchmarks/twenty_failures.py [--failures N] [--upstream]

Descriptors, threads, children, shared memory and sockets' files must be after the failures what they were
before, and the good start must generate the tokens that vLLM as it is generates. `--upstream` shows the same
of vLLM as it is. Exits 1 if anything is left, or other tokens come. Needs vLLM.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from faultinject.targets import _vllm_trees

PROMPT = [1, 2, 3, 4]
PATIENCE = 10.0
"""Seconds in which what is on its way out is gone."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--failures", type=int, default=20)
    parser.add_argument("--upstream", action="store_true", help="leave vLLM as it is")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="twenty-") as directory:
        os.environ["TMPDIR"] = tempfile.tempdir = directory
        return run(options.failures, options.upstream)


def run(failures: int, upstream: bool) -> int:
    target = _vllm_trees.llm_tp2()
    os.environ.update(target.environment)
    assert target.warm_up is not None
    target.warm_up()
    prepared = target.prepare()
    expected = tokens(prepared)
    import vllm.v1.core.sched.scheduler as scheduling

    from engine import harden

    if not upstream:
        if not harden():
            return 1
        # What starts once and stays: the guardian, and this process's connection to it.
        tokens(prepared)
    before = holdings()
    original = scheduling.Scheduler.__init__
    scheduling.Scheduler.__init__ = failing
    started = time.perf_counter()
    for _ in range(failures):
        try:
            call, arguments, keywords = prepared
            call(*arguments, **keywords)
        except Exception:
            continue
        raise SystemExit("the start did not fail")
    seconds = (time.perf_counter() - started) / failures
    scheduling.Scheduler.__init__ = original
    after = settled(before)
    found = tokens(prepared)
    print(f"{failures} starts whose scheduler fails, vLLM {'as it is' if upstream else 'hardened'}")
    for name, amount in before.items():
        print(f"  {name:16} {amount:12} before  {after[name]:12} after")
    print(f"  each took {seconds:.1f} s; the good one after them generates", end=" ")
    print("the same tokens" if found == expected else "OTHER tokens")
    return 0 if after == before and found == expected else 1


def failing(*args: object, **kwargs: object) -> None:
    raise RuntimeError("the scheduler fails on purpose")


def tokens(prepared: Any) -> list[int]:
    """What a good start generates; it is shut down."""
    call, arguments, keywords = prepared
    llm = call(*arguments, **keywords)
    try:
        outputs = llm.generate([{"prompt_token_ids": PROMPT}], use_tqdm=False)
        return list(outputs[0].outputs[0].token_ids)
    finally:
        _vllm_trees.give_back(llm)


def holdings() -> dict[str, int]:
    """What this process holds, and what there is of its kind's names."""
    gc.collect()
    this = psutil.Process()
    shm = list(Path("/dev/shm").iterdir())
    return {
        "descriptors": this.num_fds(),
        "threads": this.num_threads(),
        "children": len(this.children(recursive=True)),
        "/dev/shm names": len(shm),
        "/dev/shm bytes": sum(path.stat().st_size for path in shm if path.exists()),
        "temporary files": sum(1 for _ in Path(tempfile.gettempdir()).iterdir()),
    }


def settled(before: dict[str, int]) -> dict[str, int]:
    """What is held once it is what it was, or the time for that is over."""
    end = time.monotonic() + PATIENCE
    while (now := holdings()) != before and time.monotonic() < end:
        time.sleep(0.1)
    return now


if __name__ == "__main__":
    sys.exit(main())
