"""The specimens themselves: without a fault each works, twice, and gives everything back."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.corpus import MODULES, SPECIMENS, Specimen, at, expectation, expected_verdict

ROOT = Path(__file__).resolve().parent.parent
VERDICTS = {
    "clean", "leak", "double-release", "wrong-release", "order", "late", "state", "masked", "traceback",
    "handled", "hang", "crash",
}  # fmt: skip


@pytest.mark.parametrize("module", MODULES)
def test_an_unharmed_specimen_works_twice_and_leaves_nothing(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.corpus._unharmed", module],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_at_least_forty_specimens_each_named_once() -> None:
    assert len(SPECIMENS) >= 40
    assert [name for name, count in Counter(s.target for s in SPECIMENS).items() if count > 1] == []


def test_every_kind_has_a_defect_and_a_repaired_twin() -> None:
    assert {s.kind for s in SPECIMENS if s.defect} == {s.kind for s in SPECIMENS if not s.defect}


@pytest.mark.parametrize("specimen", SPECIMENS, ids=lambda specimen: specimen.name)
def test_a_specimen_expects_a_violation_exactly_if_it_has_a_defect(specimen: Specimen) -> None:
    assert any(expect.violation for expect in specimen.expected) == bool(specimen.defect)
    assert {expect.verdict for expect in specimen.expected} <= VERDICTS
    assert all(any(fnmatchcase(fault, e.fault) for fault in specimen.faults) for e in specimen.expected)


def test_the_first_expectation_that_fits_decides_and_any_other_point_is_clean() -> None:
    specimen = Specimen(
        "m:f", "kind", "defect",
        (at("*:g", "leak", phase="before", occurrence=2), at("*:g", "late", fault="Keyboard*")),
    )  # fmt: skip

    assert expected_verdict(specimen, "before", "m:g", 2, "KeyboardInterrupt") == "leak"
    assert expected_verdict(specimen, "before", "m:g", 1, "KeyboardInterrupt") == "late"
    assert expected_verdict(specimen, "after", "m:g", 2, "RuntimeError") == "clean"
    assert expected_verdict(specimen, "after", "m:h", 1, "KeyboardInterrupt") == "clean"


def test_a_clean_expectation_is_never_a_violation_and_a_handled_one_may_be() -> None:
    specimen = Specimen("m:f", "kind", expected=(at("*:g", "handled", violation=False), at("*:h", "handled")))

    assert not expectation(specimen, "before", "m:g", 1, "RuntimeError").violation
    assert expectation(specimen, "before", "m:h", 1, "RuntimeError").violation
    assert not expectation(specimen, "before", "m:other", 1, "RuntimeError").violation
