"""How long `import faultinject` takes in a fresh interpreter: the median of twenty.

Usage: python benchmarks/import_time.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNS = 20


def seconds(statement: str) -> float:
    """Of one statement in a fresh interpreter, its own start not counted."""
    script = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def main() -> None:
    for statement in ("import faultinject", "import faultinject.cli"):
        seconds(statement)  # compiles what has no bytecode yet
        taken = [seconds(statement) for _ in range(RUNS)]
        print(f"{statement:24} median of {RUNS}: {statistics.median(taken) * 1000:6.1f} ms "
              f"(fastest {min(taken) * 1000:.1f}, slowest {max(taken) * 1000:.1f})")  # fmt: skip


if __name__ == "__main__":
    main()
