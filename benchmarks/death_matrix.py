"""Whoever dies, whenever: vLLM's start-up as it is beside the hardened one. Needs vLLM.

    python benchmarks/death_matrix.py [--target NAME] [--sample N] [--deadline SECONDS] [--reports DIRECTORY]

Each of caller, engine and workers gets SIGKILL, SIGTERM and SIGINT at every milestone of the start. For
each signal and process: cases, those in which not everything was gone in time (processes, shared memory,
sockets' files), those whose caller was not told why, and the longest time until all was gone. Then SIGSTOP
of an engine or a worker, for good, with VLLM_ENGINE_READY_TIMEOUT_S=6. Exits 1 if the hardened one has a
violation.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faultinject.targets._vllm import vllm_version

SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT")
ROLES = {"LLM-tp2": ("caller", "engine", "worker[0]", "worker[1]"), "LLM": ("caller", "engine")}
READY_TIMEOUT = 6
"""Seconds in which an engine has to be ready where a process is stopped."""


@dataclass
class Row:
    """What came of one signal to one process, over all milestones."""

    cases: int = 0
    missed: int = 0
    left: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    gone: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, case: dict[str, Any]) -> None:
        self.cases += 1
        self.missed += case["verdict"] == "not-reached"
        self.seconds.append(case["seconds"])
        verdicts = {problem["verdict"] for problem in case["problems"] if problem["violation"]}
        self.verdicts.update(verdicts)
        self.left += bool(verdicts & {"leak", "hang", "crash"})
        for note in case["notes"]:
            if found := re.match(r"all processes gone ([\d.]+) s", note):
                self.gone.append(float(found[1]))

    @property
    def text(self) -> str:
        longest = f"{max(self.gone):6.2f}" if self.gone else f"{'-':>6}"
        masked, slowest = self.verdicts["masked"], max(self.seconds)
        return f"{self.cases:6}{self.missed:7}{self.left:5}{masked:7}{longest}{slowest:8.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", choices=list(ROLES), default="LLM-tp2", help="which start-up")
    parser.add_argument("--sample", type=int, metavar="N", help="only N milestones")
    parser.add_argument("--deadline", type=float, default=5.0, help="seconds in which all is gone")
    parser.add_argument("--reports", type=Path, help="keep the JSON reports here")
    given = parser.parse_args()
    roles = ROLES[given.target]
    deaths = [f"{name}@{role}" for name in SIGNALS for role in roles]
    stops = [f"SIGSTOP@{role}" for role in roles if role != "caller"]
    rows: dict[str, dict[str, Row]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.reports or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for kind in ("vllm", "engine"):
            target = f"{kind}:{given.target}"
            cases = sweep(target, deaths, given.deadline, given.sample, folder / f"{kind}-deaths.json")
            # The start is given up after the time it has; then all has to be gone as soon as after a death.
            limit = READY_TIMEOUT + given.deadline
            cases += sweep(target, stops, limit, given.sample, folder / f"{kind}-stops.json")
            rows[kind] = by_fault(cases)
    show(rows, [*deaths, *stops])
    return 1 if any(row.verdicts.total() for row in rows["engine"].values()) else 0


def sweep(
    target: str, faults: Iterable[str], deadline: float, sample: int | None, report: Path
) -> list[dict[str, Any]]:
    """One sweep, by the command line that anyone would use; its cases."""
    command = [sys.executable, "-m", "faultinject", "sweep", target, "--level", "milestones"]
    command += ["--fault", ",".join(faults), "--deadline", str(deadline), "--repeats", "1"]
    command += ["--sample", str(sample)] if sample else []
    done = subprocess.run(
        [*command, "--json", str(report), "--quiet", "--exit-zero"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "VLLM_ENGINE_READY_TIMEOUT_S": str(READY_TIMEOUT)}
        if any("SIGSTOP" in fault for fault in faults)
        else None,
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-4000:]}")
    cases = {case["id"]: case for case in json.loads(report.read_text("utf-8"))["cases"]}
    return list(cases.values())


def by_fault(cases: Iterable[dict[str, Any]]) -> dict[str, Row]:
    """The cases of each fault, added up."""
    rows: dict[str, Row] = {}
    for case in cases:
        rows.setdefault(case["fault"], Row()).add(case)
    return rows


def show(rows: dict[str, dict[str, Row]], faults: Iterable[str]) -> None:
    python = ".".join(map(str, sys.version_info[:3]))
    print(f"vLLM {vllm_version()}, Python {python}, {len(os.sched_getaffinity(0))} cores\n")
    print(f"{'':17}{'upstream':^40}{'hardened':^40}".rstrip())
    columns = f"{'cases':>6}{'missed':>7}{'left':>5}{'masked':>7}{'gone':>6}{'longest':>8} "
    print(f"{'':17}{columns * 2}".rstrip())
    for fault in faults:
        line = f"{fault:17}"
        for kind in ("vllm", "engine"):
            row = rows[kind].get(fault)
            line += f"{row.text} " if row is not None else f"{'-':>39} "
        print(line.rstrip())
    print("\nmissed: the milestone, or the process that the signal is for, did not come")
    print("left: a process, shared memory or a file was left, or the caller had not ended, at the deadline")
    print("masked: what the caller got does not name the cause")
    print("gone: the longest time until every process was gone; longest: of one case; both in seconds")


if __name__ == "__main__":
    sys.exit(main())
