"""The judge is judged: every defect of the corpus is found, and no safe constructor is accused."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from pathlib import Path

import pytest

from faultinject.facts import CaseResult
from faultinject.sweep import Options, Sweep
from faultinject.targets import TargetSpec
from tests.corpus import SPECIMENS
from tests.corpus._specimen import Specimen, expectation
from tests.sweep._collected import Collected

ROOT = Path(__file__).resolve().parents[1]


def sweep(specimen: Specimen) -> Collected:
    collected = Collected()
    Sweep(
        Options(
            target=TargetSpec(specimen.target, specimen.release, str(ROOT), specimen.own),
            faults=specimen.faults,
            level=specimen.level,
            runner="zygote",
            jobs=1,
            repeats=1,
            time_limit=specimen.time_limit or 20.0,
            second=bool(specimen.second),
            second_faults=specimen.second,
        ),
        collected,
    ).run()
    return collected


@pytest.fixture(autouse=True)
def _nothing_of_somebody_else_stays() -> Iterator[None]:
    """The lanes make a segment for each case that is to find somebody else's; no exit handler removes it."""
    yield
    for segment in Path("/dev/shm").glob("faultinject-foreign-*"):
        if not Path("/proc", segment.name.split("-")[2]).exists():
            segment.unlink(missing_ok=True)


@pytest.mark.parametrize("specimen", SPECIMENS, ids=lambda s: s.target.removeprefix("tests.corpus."))
def test_each_point_of_a_specimen_gets_the_verdict_it_deserves(specimen: Specimen) -> None:
    collected = sweep(specimen)
    wrong = []
    for result in collected.results.values():
        point = result.point
        expected = expectation(
            specimen,
            point.phase,
            point.callee,
            point.occurrence,
            result.fault,
            result.second,
            linecache.getline(point.file, point.line).strip(),
        )
        seen = (result.verdict, True) if result.violation else (innocent(result), False)
        if seen != (expected.verdict, expected.violation):
            problems = "; ".join(f"{p.verdict} {p.charged_to} {p.what}" for p in result.problems)
            wrong.append(
                f"{point.line} {point.phase} {point.callee}#{point.occurrence} {result.fault} "
                f"{result.second}: "
                f"{seen} instead of {(expected.verdict, expected.violation)} [{problems}] {result.notes}"
            )
    assert not wrong, "\n".join(wrong)
    # A pair is not clean because its second fault never came.
    clean = [r for r in collected.results.values() if r.verdict == "clean" and r.second]
    assert [(r.phase, r.point.callee, r.second) for r in clean if not r.second_reached] == []


def innocent(result: CaseResult) -> str:
    """A case that accuses only a layer beneath the target counts as clean for the target."""
    return result.verdict if result.verdict in ("handled", "not-reached") else "clean"
