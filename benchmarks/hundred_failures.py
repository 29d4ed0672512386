"""One hundred constructions of vLLM's engine core that fail, then one that works and generates.

    python benchmarks/hundred_failures.py [--failures N] [--upstream]

Each failure comes at another of the constructor's steps, in turn, as a RuntimeError or a KeyboardInterrupt,
and the caller keeps nothing. Descriptors, threads, children, shared memory and the freeze count must be at
the end what they were at the start, and resident memory must have grown by less than 1 % since the tenth
failure (by then every cache and pool that a process fills once is full). `--upstream` shows the same of
vLLM as it is. Exits 1 if anything is left.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import sys
from collections.abc import Iterator
from typing import Any

from _engine_runs import construct, generate, holdings, make_llm, resident, set_up, settled

STEPS = (
    "StructuredOutputManager",
    "resolve_kv_cache_block_sizes",
    "get_hash_fn_by_name",
    "freeze_gc_heap",
    "maybe_attach_gc_debug_callback",
    "enable_envs_cache",
)
"""Names that the constructor calls, from the first after the KV caches to the last."""


@contextlib.contextmanager
def failing(module: Any, name: str, error: type[BaseException]) -> Iterator[None]:
    """Make the constructor's call of `name` raise."""
    original = getattr(module, name)

    def fail(*args: object, **kwargs: object) -> None:
        raise error(f"{name} fails on purpose")

    setattr(module, name, fail)
    try:
        yield
    finally:
        setattr(module, name, original)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--failures", type=int, default=100)
    parser.add_argument("--upstream", action="store_true", help="leave vLLM as it is")
    options = parser.parse_args()
    set_up()
    import vllm.v1.engine.core as core

    from engine import harden

    if not options.upstream and not harden():
        return 1
    expected, _ = tokens_of_a_good_one()
    before = holdings()
    memory = peak = 0
    for number in range(options.failures):
        error = (RuntimeError, KeyboardInterrupt)[number % 2]
        with failing(core, STEPS[number % len(STEPS)], error):
            try:
                construct()
            except error:
                pass
            else:
                raise SystemExit("the construction did not fail")
        if number == min(9, options.failures // 2):
            gc.collect()
            memory = resident()
    after = settled(lambda now: now == before)
    gc.collect()
    peak = resident()
    found, _ = tokens_of_a_good_one()
    grown = 100 * (peak - memory) / memory
    print(f"{options.failures} failed constructions, vLLM {'as it is' if options.upstream else 'hardened'}")
    for name, amount in before.items():
        print(f"  {name:10} {amount:8} before  {after[name]:8} after")
    print(f"  memory     {memory / 2**20:8.1f} MiB {peak / 2**20:8.1f} MiB ({grown:+.2f} %)")
    print(f"  the good one after them generates {'the same' if found == expected else 'OTHER'} tokens")
    return 0 if after == before and grown < 1.0 and found == expected else 1


def tokens_of_a_good_one() -> tuple[list[int], float]:
    llm = make_llm()
    try:
        return generate(llm)
    finally:
        llm.llm_engine.engine_core.shutdown()


if __name__ == "__main__":
    sys.exit(main())
