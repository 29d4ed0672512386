"""What the hardening costs where nothing fails: constructions and generation, in pairs, in one process.

    python benchmarks/construction_cost.py [--pairs N]

A pair is one construction of vLLM's engine core as it is and one hardened, in an order that changes from
pair to pair. Printed: the median of each, and the median of the differences within the pairs with its 95 %
interval (bootstrap). Generation is measured the same way.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable

from _engine_runs import construct, generate, make_llm, set_up
from _pairs import compared


def construction(hardened: bool) -> float:
    """Seconds of one construction."""
    switch(hardened)
    gc.collect()
    started = time.perf_counter()
    engine_core = construct()
    seconds = time.perf_counter() - started
    engine_core.shutdown()
    return seconds


def generation(hardened: bool) -> float:
    """Seconds for 64 tokens, of an engine constructed that way."""
    switch(hardened)
    llm = make_llm()
    try:
        generate(llm, 16)
        return generate(llm, 64)[1]
    finally:
        llm.llm_engine.engine_core.shutdown()


def switch(hardened: bool) -> None:
    from engine import harden, restore

    if hardened and not harden():
        raise SystemExit("this vLLM cannot be hardened")
    if not hardened and not restore():
        raise SystemExit("the hardening did not come off")


def in_pairs(what: str, measure: Callable[[bool], float], pairs: int) -> None:
    measure(False)
    measure(True)
    plain: list[float] = []
    hardened: list[float] = []
    for number in range(pairs):
        for one in (True, False) if number % 2 else (False, True):
            (hardened if one else plain).append(measure(one))
    print(compared(what, [1000 * one for one in plain], [1000 * one for one in hardened]))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=40)
    options = parser.parse_args()
    set_up()
    in_pairs("construction", construction, options.pairs)
    in_pairs("generation", generation, max(4, options.pairs // 2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
