from __future__ import annotations

import io
import json
from typing import Any

import msgspec
import pytest

from faultinject.errors import UsageError
from faultinject.facts import CaseResult, Point, Recording
from faultinject.gate import diff_reports, encode_difference, print_difference
from faultinject.reports import Report, make_console, summarise
from tests.reports._sample import ENVIRONMENT, OWNED, POINTS, RECORDING, problem, result

CASES = (result(POINTS[4]).id, result(POINTS[6]).id)


def report(*results: CaseResult, points: tuple[Point, ...] = POINTS, **changes: Any) -> Report:
    recording: Recording = msgspec.structs.replace(RECORDING, points=(), **changes)
    whole = summarise(list(results), recording)
    return Report("", recording.target, recording.level, ENVIRONMENT, points, results, recording, whole)


def said(a: Report, b: Report) -> list[str]:
    console = make_console(io.StringIO(), width=200, color=False)
    print_difference(console, diff_reports(a, b))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined,no-any-return]


def test_the_same_reports_do_not_differ() -> None:
    one = report(*[result(at) for at in POINTS])
    assert not diff_reports(one, one)
    assert said(one, one)[-1] == "A and B do not differ."


def test_points_ownership_and_verdicts_that_changed_are_told() -> None:
    before = report(result(POINTS[4], problem()), result(POINTS[6]), points=POINTS[2:])
    after = report(result(POINTS[4]), result(POINTS[6], problem()), points=POINTS[:-2], owned=OWNED[:1])
    assert said(before, after) == [
        "A: acme:Engine 2.4.0",
        "B: acme:Engine 2.4.0",
        "2 fault points appeared",
        "  before and after load_plugins (Engine.__init__)",
        "2 fault points vanished",
        "  before and after freeze_heap (Engine.__init__)",
        "1 change of ownership",
        "  scheduler is owned no more; it was from Scheduler.__init__ on",
        "2 cases judged otherwise",
        f"  leak -> clean: before Engine._profile (Engine.__init__:17): RuntimeError [{CASES[0]}]",
        f"  clean -> leak: before Scheduler.__init__ (Engine.__init__:23): RuntimeError [{CASES[1]}]",
        "A and B differ.",
    ]


def test_lines_that_moved_are_counted_and_no_difference() -> None:
    moved = tuple(msgspec.structs.replace(p, line=p.line + 3) for p in POINTS)
    found = diff_reports(report(), report(points=moved))
    assert found.lines == len(POINTS)
    assert not found


def test_cases_are_matched_by_where_they_are_whatever_the_target_is_called() -> None:
    renamed = result(POINTS[4], problem(), id="12345678")
    found = diff_reports(report(result(POINTS[4])), report(renamed))
    assert [(one.was, one.is_now, one.case) for one in found.verdicts] == [("clean", "leak", "12345678")]


def test_a_fault_that_only_one_injects_is_told() -> None:
    less = msgspec.structs.replace(ENVIRONMENT, faults=("RuntimeError",))
    other = msgspec.structs.replace(report(), environment=less)
    assert diff_reports(report(), other).faults == ("only A injects KeyboardInterrupt",)


def test_reports_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(UsageError, match="A is of level steps, B of level sites"):
        diff_reports(report(), report(level="sites"))
    short = msgspec.structs.replace(report(), summary=None)
    with pytest.raises(UsageError, match="the report B was cut short"):
        diff_reports(report(), short)


def test_the_document_says_the_same() -> None:
    document = json.loads(encode_difference(diff_reports(report(points=POINTS[2:]), report())))
    assert document["schema"] == "faultinject-diff/1"
    assert len(document["points"][0]) == 2
