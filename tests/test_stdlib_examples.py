"""The measured rows of the standard library: what a sweep says at each place is what was measured without it.

Every sweep records the target and finds all its fault points by itself. Of a target with few points all are
run; of the others (a pool has two thousand) those with the row's callee and caller, unless the environment
variable ``FAULTINJECT_WHOLE`` is set: the plain commands then, which makes this file take most of an hour.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from faultinject.facts import CaseResult, Point
from faultinject.filters import PointFilter
from faultinject.sweep import Options, Sweep
from faultinject.targets import TargetSpec
from tests.sweep._collected import Collected

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "stdlib"
Row = dict[str, Any]
ROWS: list[Row] = tomllib.loads((EXAMPLES / "rows.toml").read_text("utf-8"))["row"]

SMALL = frozenset({"M29", "M31", "M36", "M39", "N2", "N3", "N4"})
"""Rows whose targets have few points, or points so cheap that all are run."""

MUST_NOT_BE_ACCUSED = ("N2", "N3")


def sweep(row: Row) -> Collected:
    collected = Collected()
    ends = row.get("exits", True)
    Sweep(
        Options(
            target=TargetSpec(row["target"], "", str(EXAMPLES)),
            level=row["level"],
            faults=(row["faults"][0],),
            filter=PointFilter() if is_whole(row) else here(row),
            # Cases that never end by themselves wait side by side; the limit is what each of them takes.
            jobs=1 if ends else 3,
            time_limit=30.0 if ends else 6.0,
            repeats=1,
        ),
        collected,
    ).run()
    return collected


def is_whole(row: Row) -> bool:
    return row["id"] in SMALL or bool(os.environ.get("FAULTINJECT_WHOLE"))


def here(row: Row) -> PointFilter:
    return PointFilter(names=(f"callee={row['callee']}",), stack_has=(row["caller"],), phases=(row["phase"],))


def is_at(row: Row, point: Point) -> bool:
    return (
        (point.phase, point.occurrence) == (row["phase"], row["occurrence"])
        and fnmatchcase(point.caller, row["caller"])
        and any(fnmatchcase(point.callee, callee) for callee in (row["callee"], *row.get("also_at", ())))
    )


def case_at(row: Row, results: Iterable[CaseResult]) -> CaseResult:
    found = [r for r in results if is_at(row, r.point) and fnmatchcase(r.point.callee, row["callee"])]
    assert len(found) == 1, f"{row['id']}: the sweep has {len(found)} cases at the row's place"
    return found[0]


def told(result: CaseResult) -> str:
    return "; ".join(f"{p.verdict} {p.charged_to}: {p.what}" for p in result.problems) or "no problem"


def is_fixed_here(row: Row) -> bool:
    fixed = row.get("fixed_in")
    return fixed is not None and sys.version_info[:3] >= tuple(int(part) for part in fixed.split("."))


@pytest.fixture(autouse=True)
def _nothing_of_a_lent_owner_stays() -> Iterator[None]:
    """The owner of a lent segment removes it as it ends, but a case that hangs is ended with all of it."""
    yield
    for segment in Path("/dev/shm").glob("owner_*"):
        if not Path("/proc", segment.name.partition("_")[2]).exists():
            segment.unlink(missing_ok=True)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['id']}-{row['target']}")
def test_a_sweep_says_of_each_row_what_was_measured_without_it(row: Row) -> None:
    collected = sweep(row)
    result = case_at(row, collected.results.values())
    if row["verdict"] == "clean" or is_fixed_here(row):
        assert (result.verdict, result.violation) == ("clean", False), told(result)
        return
    wanted = [p for p in result.problems if p.verdict == row["verdict"]]
    charged = [p for p in wanted if p.charged_to in row["charged_to"]]
    assert charged, f"no {row['verdict']} of {row['charged_to']}, but {told(result)}"
    for problem in charged:
        assert problem.violation == (problem.charged_to == collected.recording.frame), told(result)
    assert {p.verdict for p in result.problems} >= set(row.get("also", ())), told(result)
    known = {*row["charged_to"], row.get("masked_by"), *row.get("others", ())}
    innocent = {p.charged_to for p in result.problems} - known
    assert not innocent, f"{innocent} accused: {told(result)}"
    if row["marked"] == "held":
        assert all(p.verdict != "leak" for p in result.problems), told(result)
    assert any(p.verdict == "hang" for p in result.problems) == (not row.get("exits", True)), told(result)


@pytest.mark.parametrize("row", [r for r in ROWS if r.get("also_at")], ids=lambda row: row["id"])
def test_the_other_places_of_a_row_show_the_same(row: Row) -> None:
    collected = Collected()
    Sweep(
        Options(
            target=TargetSpec(row["target"], "", str(EXAMPLES)),
            level=row["level"], faults=(row["faults"][0],),
            filter=PointFilter(names=tuple(f"callee={c}" for c in row["also_at"]), stack_has=(row["caller"],),
                               phases=(row["phase"],)),
            jobs=1, time_limit=30.0, repeats=1,
        ),
        collected,
    ).run()  # fmt: skip
    results = [r for r in collected.results.values() if is_at(row, r.point)]
    assert len(results) == len(row["also_at"])
    for result in results:
        charged = {p.charged_to for p in result.problems if p.verdict == row["verdict"]}
        assert charged & set(row["charged_to"]), told(result)


@pytest.mark.parametrize("name", MUST_NOT_BE_ACCUSED)
def test_what_must_not_be_accused_is_not_accused_at_any_point(name: str) -> None:
    row = next(row for row in ROWS if row["id"] == name)
    accused = [r for r in sweep(row).results.values() if r.violation]
    assert not accused, "\n".join(f"{r.point.phase} {r.point.callee}: {told(r)}" for r in accused)


@pytest.mark.parametrize(("name", "status"), [("N3", 0), ("N4", 1)])
def test_the_plain_command_says_the_same(name: str, status: int, tmp_path: Path) -> None:
    row = next(row for row in ROWS if row["id"] == name)
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "faultinject", "sweep", row["target"], "--level", row["level"],
               "--fault", row["faults"][0], "--json", str(report)]  # fmt: skip
    ended = subprocess.run(command, cwd=EXAMPLES, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == status, ended.stdout + ended.stderr
    # A case that was confirmed or repeated stands there again; the last word counts.
    cases = {c["id"]: c for c in json.loads(report.read_text("utf-8"))["cases"]}
    place = row["phase"], row["callee"]
    (case,) = [c for c in cases.values() if (c["phase"], c["point"]["callee"]) == place]
    assert case["verdict"] == row["verdict"]
    assert case["charged_to"] == row.get("charged_to", [""])[0]
