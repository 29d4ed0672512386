"""What the tool itself keeps: its own descriptors, threads and children before and after a thousand cases.

Usage: python benchmarks/leak_of_the_tool.py [--cases N]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.light_target import FAULTS  # noqa: E402
from faultinject.probes import ProbeSet, diff, load_probes  # noqa: E402
from faultinject.reports import reporters_for  # noqa: E402
from faultinject.sweep import Options, Sweep  # noqa: E402
from faultinject.targets import TargetSpec  # noqa: E402

LOOKED_AT = ("fds", "threads", "processes", "shared memory", "temporary files", "signals")


def sweep(faults: tuple[str, ...]) -> int:
    """Cases of one sweep, by fork."""
    with tempfile.TemporaryDirectory() as directory:
        reporters = reporters_for(json_path=Path(directory, "report.json"), quiet=True)
        target = TargetSpec("benchmarks._ten_steps:TenSteps", "close", str(ROOT))
        try:
            return (
                Sweep(Options(target=target, faults=faults, runner="fork", confirm="none"), reporters)
                .run()
                .cases
            )
        finally:
            reporters.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=1000, help="at least this many")
    wanted = parser.parse_args().cases
    with tempfile.TemporaryDirectory() as own:
        # Where other programs make no names.
        os.environ["TMPDIR"] = tempfile.tempdir = own
        show(wanted, ProbeSet(load_probes(LOOKED_AT, plugins=False)))


def show(wanted: int, probes: ProbeSet) -> None:
    sweep(FAULTS[:1])  # what is loaded once, and kept by design
    before = probes.snapshot("all")
    cases = 0
    while cases < wanted:
        cases += sweep(FAULTS)
    after = probes.snapshot("all")
    added, removed = diff(before, after)
    print(f"after {cases} cases:")
    for name in LOOKED_AT:
        changes = [f"+ {item.label}" for probe, _, item in added if probe == name]
        changes += [f"- {item.label}" for probe, _, item in removed if probe == name]
        numbers = f"{len(before[name]):4} before, {len(after[name]):4} after"
        print(f"  {name:16} {numbers}  {', '.join(changes)}".rstrip())


if __name__ == "__main__":
    main()
