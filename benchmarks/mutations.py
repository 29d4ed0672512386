"""The judge is judged: what keeps `engine` safe is deleted, a piece at a time, and a sweep must see it.

A release, a guard, a deadline or a deferral at a time, in a copy of the package. Targets of
``tests/ownership`` are swept against it until one is not clean. The last line says how many were seen; the
exit status is 1 if one was not.

Usage: python benchmarks/mutations.py [--light | --heavy] [--only TEXT] [--list] [--jobs N]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks._mutations import Mutation, mutations  # noqa: E402
from tests.ownership.judged import HEAVY, JUDGED  # noqa: E402

LIGHT = (
    "_entry_points.py",
    "_gc_state.py",
    "_processes.py",
    "_rebound.py",
    "_record.py",
    "_release.py",
    "_scheduler.py",
    "_signals.py",
    "_transaction.py",
)
"""Files that need no vLLM."""

LIMIT = 600.0
"""Seconds for one mutation: a sweep that does not end by itself counts as having seen it."""


@dataclass(frozen=True)
class Outcome:
    """What came of one mutation; ``target`` is empty if no sweep saw it."""

    mutation: Mutation | None
    target: str
    verdict: str
    seconds: float

    @property
    def line(self) -> str:
        place = self.mutation.place if self.mutation else "(nothing)"
        what = self.mutation.what if self.mutation else ""
        return (
            f"{place:42.42} {what:62.62} {self.target:24} {self.verdict or 'SURVIVED':14} {self.seconds:5.1f}"
        )


@contextmanager
def copy_of_engine(mutation: Mutation | None) -> Iterator[Path]:
    """A directory with a copy of `engine`, mutated, and of the targets."""
    with tempfile.TemporaryDirectory(prefix="mutation-") as name:
        directory = Path(name)
        shutil.copytree(ROOT / "engine", directory / "engine", ignore=shutil.ignore_patterns("__pycache__"))
        (directory / "tests" / "ownership").mkdir(parents=True)
        for pattern in ("__init__.py", "judged.py", "targets*.py"):
            for path in ROOT.glob(f"tests/ownership/{pattern}"):
                shutil.copy(path, directory / "tests" / "ownership")
        if mutation is not None:
            (directory / "engine" / mutation.file).write_text(mutation.source, encoding="utf-8")
        yield directory


def run(script: str, directory: Path, arguments: Sequence[str]) -> str:
    """What a script prints which imports `engine` from `directory`; ``""`` if it did not end.

    Raises:
        RuntimeError: it failed, so that nothing is known.
    """
    path = os.pathsep.join((str(directory), str(ROOT)))
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "benchmarks" / script), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=directory,
        env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"},
        start_new_session=True,
    )
    try:
        told, errors = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return ""
    if process.returncode:
        raise RuntimeError(f"{script} {' '.join(arguments)} failed:\n{errors[-2000:]}")
    return told


def reached() -> list[frozenset[str]]:
    """For each target, the lines of `engine` (``file:line``) that it runs when it fails."""
    with copy_of_engine(None) as directory, ThreadPoolExecutor(2) as pool:
        told = pool.map(lambda judged: run("_reach.py", directory, [judged.target]), JUDGED)
        return [frozenset(text.split()) for text in told]


def judge(mutation: Mutation | None, targets: Sequence[int]) -> Outcome:
    """Sweep `targets` with that mutation, until one shows it."""
    began = time.monotonic()
    with copy_of_engine(mutation) as directory:
        said = run("_judge.py", directory, [str(directory), *map(str, targets)]) if targets else ""
    seen = json.loads(said) if said else {"target": "", "verdict": "no end" if targets else ""}
    return Outcome(mutation, seen["target"], seen["verdict"], time.monotonic() - began)


def targets_for(mutation: Mutation, reach: Sequence[frozenset[str]]) -> list[int]:
    """Targets that run what is deleted; those first that run lines of it which few others do.

    Those that are swept elsewhere than at their last step are tried last, whatever they run when that fails.
    """
    if mutation.file not in LIGHT:
        return [len(JUDGED) + number for number in range(len(HEAVY))]
    if not mutation.function:
        return list(range(len(JUDGED)))
    span = {f"{mutation.file}:{line}" for line in range(mutation.line, mutation.end + 1)}
    runs = Counter(line for lines in reach for line in lines)
    weight = {number: sum(1 / runs[line] for line in lines & span) for number, lines in enumerate(reach)}
    found = [number for number in weight if weight[number] or not JUDGED[number].at_the_end]
    return sorted(
        found,
        key=lambda number: (JUDGED[number].level != "steps", not JUDGED[number].at_the_end, -weight[number]),
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--light", action="store_true", help="only what needs no vLLM")
    part.add_argument("--heavy", action="store_true", help="only what needs vLLM")
    parser.add_argument("--only", default="", help="only mutations whose line holds this text")
    parser.add_argument("--list", action="store_true", help="print the mutations, and do nothing")
    parser.add_argument("--jobs", type=int, default=2, help="mutations at a time")
    options = parser.parse_args()
    chosen = [
        one
        for one in mutations(ROOT / "engine")
        if not (options.light and one.file not in LIGHT)
        and not (options.heavy and one.file in LIGHT)
        and options.only in f"{one.place} {one.what}"
    ]
    if not chosen:
        parser.error(f"--only {options.only!r}: no mutation's line holds it; --list shows them all")
    if options.list:
        print("\n".join(f"{one.place:42.42} {one.what}" for one in chosen))
        print(f"{len(chosen)} mutations")
        return 0
    reach = [] if options.heavy else reached()
    survived = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        # A target that says something of the package as it is would see whatever is deleted.
        wanted = sorted({number for one in chosen for number in targets_for(one, reach)})
        for number, outcome in zip(wanted, pool.map(lambda one: judge(None, [one]), wanted), strict=True):
            if outcome.verdict:
                parser.error(f"{(*JUDGED, *HEAVY)[number].name} says {outcome.verdict} of nothing deleted")
        for outcome in pool.map(lambda one: judge(one, targets_for(one, reach)), chosen):
            print(outcome.line, flush=True)
            survived += not outcome.verdict
    print(f"{len(chosen) - survived} of {len(chosen)} mutations seen")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
