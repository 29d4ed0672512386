"""The sweep of vLLM's EngineCore: how long it takes, and what it finds. Needs vLLM.

Usage: python benchmarks/sweep_engine.py [--level steps|sites|opcodes] [--json FILE]
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from faultinject.facts import CaseResult, Phase, Recording, Summary  # noqa: E402
from faultinject.filters import PointFilter  # noqa: E402
from faultinject.reports import reporters_for  # noqa: E402
from faultinject.sweep import Options, Sweep  # noqa: E402
from faultinject.targets import TargetSpec  # noqa: E402

FAULTS = {
    "steps": ("RuntimeError", "KeyboardInterrupt"),
    "sites": ("RuntimeError",),
    "opcodes": ("KeyboardInterrupt",),
}
PHASES: dict[str, tuple[Phase, ...]] = {"steps": (), "sites": ("before",), "opcodes": ()}
OWNED = ("model_executor", "scheduler", "GC freeze")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--level", choices=sorted(FAULTS), default="steps")
    parser.add_argument("--json", type=Path, help="also write the report here")
    given = parser.parse_args()
    options = Options(
        target=TargetSpec("vllm:EngineCore", "", str(ROOT)),
        level=given.level,
        faults=FAULTS[given.level],
        filter=PointFilter(phases=PHASES[given.level]),
    )
    reporters = reporters_for(json_path=given.json, quiet=True)
    sweep = Sweep(options, reporters)
    try:
        summary = sweep.run()
    finally:
        reporters.close()
    assert sweep.recording is not None
    results = list(sweep.results.values())
    show_time(sweep.recording, summary)
    if given.level == "steps":
        show_steps(sweep.recording, results)
    show_confirmed(results)


def show_time(recording: Recording, summary: Summary) -> None:
    print(f"\n{len(recording.points)} points, {summary.cases} cases at level {recording.level}, on "
          f"{len(os.sched_getaffinity(0))} cores, Python {sys.version.split()[0]}")  # fmt: skip
    print(f"seconds in all     {summary.seconds:8.1f}")
    for stage, seconds in summary.seconds_by_stage.items():
        print(f"  {stage:16} {seconds:8.1f}")
    print(
        "verdicts           " + ", ".join(f"{verdict} {n}" for verdict, n in sorted(summary.verdicts.items()))
    )
    print(f"violations         {summary.violations}, charged to layers beneath: {summary.nested}")


def show_steps(recording: Recording, results: Sequence[CaseResult]) -> None:
    """At how many steps, in phase `before`, each thing is owned, and at how many it was not given back."""
    before = [r for r in results if r.phase == "before"]
    for fault in sorted({r.fault for r in before}):
        for name in OWNED:
            owned = [r for r in before if r.fault == fault and name in r.owned]
            left = [r for r in owned if any(p.violation and name in p.resources for p in r.problems)]
            print(f"{fault:18} {name:15} owned at {len(owned):2} steps, unreleased at {len(left):2}")
    made = [row.step for row in recording.owned if row.name == "model_executor"]
    first = min(made, default=0)
    early = [r for r in results if r.point.step < first + (r.phase == "before") and r.violation]
    print(f"violations before the executor exists (step {first}): {len(early)}")


def show_confirmed(results: Sequence[CaseResult]) -> None:
    """What needs a fresh process before it may be believed."""
    grave = Counter(r.verdict for r in results if r.verdict in ("hang", "crash", "masked"))
    confirmed = Counter(r.verdict for r in results if r.verdict in grave and r.confirmed)
    for verdict, number in sorted(grave.items()):
        print(f"{verdict:18} {number}, confirmed by a fresh process: {confirmed[verdict]}")
    if not grave:
        print("no hang, no crash, no masked exception")


if __name__ == "__main__":
    main()
