"""How many cases of a light constructor are judged in a second, with the fork runner.

The target is ten calls of pure Python. What is timed is the whole of a case: fork, arming, unwinding,
probing, judging, reporting. Imports, the recording and the confirmations are shown beside it.

Usage: python benchmarks/light_target.py [--repeat N]
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from faultinject.facts import Summary  # noqa: E402
from faultinject.reports import reporters_for  # noqa: E402
from faultinject.sweep import Options, Sweep  # noqa: E402
from faultinject.targets import TargetSpec  # noqa: E402

FAULTS = (
    "RuntimeError", "OSError:ENOSPC", "OSError:EMFILE", "OSError:ENOMEM", "OSError:EADDRINUSE",
    "MemoryError", "TimeoutError", "AssertionError", "ValueError", "KeyError", "KeyboardInterrupt",
    "SystemExit", "GeneratorExit", "BaseFault", "ConnectionError", "OSError:EACCES", "OSError:EIO",
    "OSError:EAGAIN", "OSError:EPIPE", "OSError:ENOENT", "LookupError", "ArithmeticError", "BufferError",
    "EOFError", "NameError",
)  # fmt: skip
"""25 of them: with ten steps and two phases, 500 cases."""


def sweep() -> tuple[Summary, float]:
    """One sweep, and the CPU seconds that it and all its processes took."""
    before = cpu()
    with tempfile.TemporaryDirectory() as directory:
        reporters = reporters_for(json_path=Path(directory, "report.json"), quiet=True)
        options = Options(
            target=TargetSpec("benchmarks._ten_steps:TenSteps", "close", str(ROOT)),
            faults=FAULTS,
            runner="fork",
        )
        try:
            summary = Sweep(options, reporters).run()
        finally:
            reporters.close()
    return summary, cpu() - before


def cpu() -> float:
    """CPU seconds of this process and of those it has waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def bare_forks(number: int) -> float:
    """Seconds of one `os.fork`, exit and wait of a process that has imported what a case's process has."""
    import faultinject.runners._inside  # noqa: F401

    started = time.perf_counter()
    for _ in range(number):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    return (time.perf_counter() - started) / number


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=3, help="sweeps; the fastest is shown")
    repeat = parser.parse_args().repeat
    floor = bare_forks(200)
    summary, seconds = min(
        (sweep() for _ in range(repeat)), key=lambda found: found[0].seconds_by_stage["screen"]
    )
    stages = summary.seconds_by_stage
    print(f"{summary.cases} cases, {summary.violations} violations, on {len(os.sched_getaffinity(0))} cores, "
          f"Python {sys.version.split()[0]}")  # fmt: skip
    print(f"judged with the fork runner   {summary.cases / stages['screen']:8.0f} cases/s")
    print(f"imports and recording too     {summary.cases / summary.seconds:8.0f} cases/s")
    print(f"bare fork, exit, wait         {1 / floor:8.0f} a second, one at a time ({floor * 1000:.2f} ms)")
    print(f"CPU time of the whole sweep   {seconds / summary.cases * 1000:8.2f} ms a case")
    for name, stage_seconds in stages.items():
        print(f"  {name:27} {stage_seconds:8.3f} s")


if __name__ == "__main__":
    main()
