"""The version in which a case changed is found, with few looks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultinject.errors import UsageError
from faultinject.gate import FirstChange, Trail
from faultinject.gate._bisect import first_change
from faultinject.reports import Report
from tests.gate.test_diff import report
from tests.reports._sample import POINTS, point, problem, result


def looked(words: str) -> tuple[FirstChange | None, list[int]]:
    """What is found where each letter is what a version shows, and which were looked at."""
    asked: list[int] = []

    def word_at(place: int) -> str:
        asked.append(place)
        return words[place]

    return first_change(len(words), word_at), asked


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("lc", (0, 1, "l", "c")),
        ("llllcc", (3, 4, "l", "c")),
        ("lccccc", (0, 1, "l", "c")),
        ("lllllc", (4, 5, "l", "c")),
        ("llcll", (1, 2, "l", "c")),
        ("lll", None),
        ("ll", None),
    ],
)
def test_the_first_that_differs_is_found(words: str, found: tuple[int, int, str, str] | None) -> None:
    assert looked(words)[0] == found


def test_one_change_among_a_hundred_takes_nine_looks_and_each_version_one() -> None:
    found, asked = looked("l" * 63 + "c" * 37)
    assert found == (62, 63, "l", "c")
    assert len(asked) == len(set(asked)) == 9


@given(st.text("abc", min_size=2, max_size=12))
def test_what_is_found_is_a_change_and_is_missed_only_where_there_is_none(words: str) -> None:
    found, asked = looked(words)
    assert len(asked) == len(set(asked))
    if found is None:
        assert set(words) == {words[0]}
    else:
        assert found.first == found.last + 1
        assert words[found.last] == found.was == words[0] != words[found.first] == found.is_now


CLEAN, LEAKS = report(result(POINTS[4])), report(result(POINTS[4], problem()))
CASE = result(POINTS[4]).id


class Versions:
    """Reports of versions, and what was asked for."""

    def __init__(self, *reports: Report) -> None:
        self.reports = reports
        self.asked: dict[int, Mapping[str, Any]] = {}

    def trail(self, case: str = CASE) -> Trail:
        return Trail(tuple(f"v{n}" for n in range(len(self.reports))), self.report_of, case)

    def report_of(self, place: int, enough: Mapping[str, Any]) -> Report:
        assert place not in self.asked, "each version is swept once"
        self.asked[place] = enough
        return self.reports[place]


def test_a_case_is_followed_with_no_more_of_a_sweep_than_it_needs() -> None:
    versions = Versions(CLEAN, CLEAN, CLEAN, LEAKS, LEAKS)
    trail = versions.trail()
    assert trail.follow() == (2, 3, "clean", "leak")
    assert trail.words == {0: "clean", 2: "clean", 3: "leak", 4: "leak"}
    assert trail.title == "before Engine._profile (Engine.__init__:17): RuntimeError"
    assert trail.version(3) == "2.4.0 (v3)"
    assert trail.version(1) == "v1"
    enough = {"level": "steps", "fault": "RuntimeError", "phases": "before", "times": 1}
    assert versions.asked == {4: {}, 0: enough, 2: enough, 3: enough}


def test_a_call_that_a_version_does_not_make_has_no_verdict_there() -> None:
    lacks = report(points=POINTS[:4])
    assert Versions(lacks, LEAKS).trail().follow() == (0, 1, "absent", "leak")
    # Known from the oldest alone, which is then not swept a second time.
    versions = Versions(LEAKS, lacks, lacks)
    assert versions.trail().follow() == (0, 1, "leak", "absent")
    assert versions.asked[1]["fault"] == "RuntimeError"


def test_a_call_that_another_frame_makes_now_is_the_same_case() -> None:
    there = point(3, caller="acme.engine:Engine._build")
    moved = report(result(there, problem()), points=(*POINTS[:4], there, *POINTS[5:]))
    assert Versions(CLEAN, moved).trail(result(there).id).follow() == (0, 1, "clean", "leak")


def test_what_cannot_be_followed_is_said() -> None:
    short = msgspec.structs.replace(CLEAN, summary=None)
    deeper = msgspec.structs.replace(CLEAN, level="sites")
    for reports, case, said in (
        ((CLEAN, LEAKS), "00000000", "neither v1 nor v0 has a case 00000000"),
        ((short, LEAKS), CASE, "the report v0 was cut short"),
        ((deeper, LEAKS), CASE, "v0 is of level sites, the case of level steps"),
        ((report(), LEAKS), CASE, "v0 has no case before Engine._profile .*: sweep it with the same options"),
    ):
        with pytest.raises(UsageError, match=said):
            Versions(*reports).trail(case).follow()
