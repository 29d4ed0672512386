"""What the installed but unused pytest plugin costs a suite of 1,000 empty tests, in pairs of runs.

Usage: python benchmarks/plugin_overhead.py [--pairs N] [--tests N] [--workers N]

With --workers the suite is spread over workers of pytest-xdist; the time is that of all processes together.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from _pairs import compared

OTHERS = ("randomly", "asyncio", "rerunfailures", "pytest_cov", "timeout", "xdist", "hypothesispytest")
"""Plugins that are no part of the question, left out of both runs."""


class Took(NamedTuple):
    """Seconds of one run of the suite, the interpreter's start included."""

    wall: float
    processor: float


def run(directory: Path, workers: int, *arguments: str) -> Took:
    others = [name for name in OTHERS if not (workers and name == "xdist")]
    left_out = [word for name in others for word in ("-p", f"no:{name}")]
    spread = ["-n", str(workers)] if workers else []
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *left_out, *spread, *arguments],
        cwd=directory, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"pytest exits with {process.returncode}")
    return Took(time.perf_counter() - began, usage.ru_utime + usage.ru_stime)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--tests", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=0, help="of pytest-xdist; 0 for none")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "pytest.ini").write_text("[pytest]\n")
        for number in range(10):
            tests = (f"def test_{i}():\n    pass\n" for i in range(wanted.tests // 10))
            (directory / f"test_{number}.py").write_text("\n".join(tests))
        ways = {"without": ("-p", "no:faultinject"), "with": ()}
        for arguments in ways.values():
            run(directory, wanted.workers, *arguments)  # compiles what has no bytecode yet
        taken: dict[str, list[Took]] = {way: [] for way in ways}
        for _ in range(wanted.pairs):
            for way in random.sample(sorted(ways), len(ways)):
                taken[way].append(run(directory, wanted.workers, *ways[way]))
    spread = f" in {wanted.workers} workers" if wanted.workers else ""
    print(f"{wanted.tests:,} empty tests{spread}, without and with the plugin")
    for kind in Took._fields:
        without, with_it = ([1000 * getattr(one, kind) for one in taken[way]] for way in ways)
        print(compared(f"{kind} time", without, with_it, second="with the plugin"))


if __name__ == "__main__":
    main()
