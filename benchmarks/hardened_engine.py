"""vLLM's engine core as it is beside the hardened one, swept in one run. Needs vLLM.

    python benchmarks/hardened_engine.py [--row NAME]... [--sample N] [--reports DIRECTORY]

Rows: `steps` (both phases, every exception of the catalogue), `sites` (RuntimeError and KeyboardInterrupt),
`opcodes` (a real SIGINT at every bytecode of the constructor), `second` (each release of the rollback fails
as well, or hangs). For each: cases, violations of either target, and what is charged to layers beneath
the hardened one, by name. Exits 1 if anything is charged to EngineCore or to `engine` in the hardened one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faultinject.faults._catalogue import CATALOGUE
from faultinject.targets._vllm import vllm_version

TARGETS = ("vllm:EngineCore", "engine:EngineCore")

ROWS: dict[str, tuple[str, ...]] = {
    "steps": ("--fault", ",".join(entry.name for entry in CATALOGUE)),
    "sites": ("--level", "sites", "--phases", "before", "--fault", "RuntimeError,KeyboardInterrupt"),
    "opcodes": ("--level", "opcodes", "--fault", "SIGINT"),
    "second": ("--second",),
}


@dataclass
class Count:
    """What a sweep said, as far as it goes into the table."""

    cases: int = 0
    points: int = 0
    violations: int = 0
    beneath: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: float = 0.0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--row", action="append", choices=list(ROWS), help="only this row")
    parser.add_argument("--sample", type=int, metavar="N", help="only N points of each sweep")
    parser.add_argument("--reports", type=Path, help="keep the JSON reports here")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.reports or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        sampled = ("--sample", str(given.sample)) if given.sample else ()
        counts = {
            (row, target): sweep(row, target, folder, sampled)
            for row in given.row or ROWS
            for target in TARGETS
        }
    show(counts, given.row or list(ROWS))
    return 1 if any(count.violations for (_, target), count in counts.items() if target == TARGETS[1]) else 0


def sweep(row: str, target: str, folder: Path, options: tuple[str, ...]) -> Count:
    """One sweep, by the command line that anyone would use."""
    report = folder / f"{row}-{target.replace(':', '-')}.json"
    started = time.monotonic()
    command = [sys.executable, "-m", "faultinject", "sweep", target, *ROWS[row], *options]
    done = subprocess.run(
        [*command, "--json", str(report), "--quiet", "--exit-zero"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-4000:]}")
    return count(json.loads(report.read_text("utf-8")), time.monotonic() - started)


def count(report: dict[str, Any], seconds: float) -> Count:
    """A case that was run again stands in the report again: the last word counts."""
    cases = {case["id"]: case for case in report["cases"]}
    found = Count(len(cases), len({str(c["point"]) for c in cases.values()}), seconds=seconds)
    for case in cases.values():
        charged = case["charged_to"]
        if case["violation"] or charged.startswith("engine."):
            found.violations += 1
        elif case["verdict"] not in ("clean", "handled", "not-reached"):
            found.beneath[case["verdict"], charged] += 1
    return found


def show(counts: dict[tuple[str, str], Count], rows: list[str]) -> None:
    python = ".".join(map(str, sys.version_info[:3]))
    print(f"vLLM {vllm_version()}, Python {python}, {len(os.sched_getaffinity(0))} cores\n")
    print(f"{'':10}{'upstream':^34}{'hardened':^34}")
    print(f"{'':10}" + f"{'cases':>8}{'violations':>12}{'seconds':>12}  " * 2)
    for row in rows:
        line = f"{row:10}"
        for target in TARGETS:
            one = counts[row, target]
            line += f"{one.cases:8}{one.violations:12}{one.seconds:12.0f}  "
        print(line)
    beneath: Counter[tuple[str, str]] = Counter()
    for row in rows:
        beneath += counts[row, TARGETS[1]].beneath
    print("\ncharged to layers beneath the hardened EngineCore:" + ("" if beneath else " nothing"))
    for (verdict, frame), number in beneath.most_common():
        print(f"  {number:5} {verdict:12} {frame or '(nobody)'}")


if __name__ == "__main__":
    sys.exit(main())
