"""``hardened-vllm serve`` beside ``vllm serve``: the same answers, and what it costs, in pairs. Needs vLLM.

    python benchmarks/serve.py [--pairs N] [--requests N]

A pair is one server of each, in an order that changes from pair to pair. Printed: seconds from the command
to the first answer, requests a second of eight clients at once, and whether every answer of the two is the
same, byte for byte, at temperature 0. Exits 1 if one is not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from _pairs import compared

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.engine._served import COMMANDS, Served, completion, prepare

CLIENTS = 8
TOKENS = 32


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--requests", type=int, default=200, help="of each server, to measure by")
    options = parser.parse_args()
    seconds: dict[str, list[float]] = {command: [] for command in COMMANDS}
    rates: dict[str, list[float]] = {command: [] for command in COMMANDS}
    said: dict[str, list[bytes]] = {command: [] for command in COMMANDS}
    with tempfile.TemporaryDirectory(prefix="serve-") as name:
        directory = Path(name)
        prepare(directory)
        for pair in range(options.pairs):
            for command in list(COMMANDS)[:: 1 if pair % 2 else -1]:
                with Served(command, directory) as server:
                    seconds[command].append(server.seconds)
                    answers, rate = asked(server, options.requests)
                    said[command] += answers
                    rates[command].append(rate)
    plain, hardened = COMMANDS
    print(compared("start", seconds[plain], seconds[hardened], "s"))
    print(compared("throughput", rates[plain], rates[hardened], "requests/s"))
    same = said[plain] == said[hardened]
    print(f"{len(said[plain])} answers each, {'the same' if same else 'OTHER'} byte for byte")
    return 0 if same else 1


def asked(server: Served, requests: int) -> tuple[list[bytes], float]:
    """The answers to so many requests, and how many came in a second; once it is warm."""
    prompts = [f"request {number} of many" for number in range(requests)]
    with server.client() as client, ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda prompt: completion(client, prompt, TOKENS), prompts[:CLIENTS]))
        started = time.perf_counter()
        answers = list(pool.map(lambda prompt: completion(client, prompt, TOKENS), prompts))
        return answers, requests / (time.perf_counter() - started)


if __name__ == "__main__":
    sys.exit(main())
