from __future__ import annotations

import re

import msgspec
import pytest

from faultinject.errors import UsageError
from faultinject.facts import Case, Point
from faultinject.points import (
    case_digest,
    case_id,
    describe_fault,
    describe_point,
    find_case,
    make_cases,
    parse_level,
    parse_phases,
    parse_point_key,
    point_key,
    short_name,
)

POINT = Point(
    level="sites",
    phase="before",
    caller="acme.engine:Engine.__init__",
    callee="acme.scheduler:Scheduler.__init__",
    occurrence=1,
    file="acme/engine.py",
    line=174,
    step=12,
)


def changed(**changes: object) -> Point:
    return msgspec.structs.replace(POINT, **changes)


def test_an_edit_that_moves_lines_changes_neither_key_nor_id() -> None:
    moved = changed(file="elsewhere/engine.py", line=9, step=13)
    assert point_key(moved) == point_key(POINT)
    assert case_id("acme:Engine", moved, "RuntimeError") == case_id("acme:Engine", POINT, "RuntimeError")


@pytest.mark.parametrize(
    "change",
    [
        {"level": "stacks"},
        {"phase": "after"},
        {"caller": "acme.engine:Engine.start"},
        {"callee": "acme.scheduler:Other"},
        {"occurrence": 2},
        {"stack": ("acme.engine:Engine.__init__",)},
    ],
)
def test_whatever_identifies_a_point_is_in_its_key_and_its_id(change: dict[str, object]) -> None:
    other = changed(**change)
    assert point_key(other) != point_key(POINT)
    assert case_id("acme:Engine", other, "RuntimeError") != case_id("acme:Engine", POINT, "RuntimeError")


def test_the_key_can_be_read() -> None:
    point = changed(level="stacks", occurrence=3, stack=("a:f", "b:g"))
    assert point_key(point) == (
        "stacks before acme.engine:Engine.__init__ -> acme.scheduler:Scheduler.__init__ #3 via a:f > b:g"
    )


def test_a_case_id_is_eight_hex_characters_that_never_change() -> None:
    assert case_id("acme:Engine", POINT, "RuntimeError") == "6fc38f6f"
    assert re.fullmatch(r"[0-9a-f]{8}", case_id("t", POINT, "E", 0))


def test_a_case_id_knows_target_fault_and_how_often() -> None:
    ids = {
        case_id(target, POINT, fault, times)
        for target in ("acme:Engine", "acme:Other")
        for fault in ("RuntimeError", "KeyboardInterrupt")
        for times in (1, 0, 3)
    }
    assert len(ids) == 12


@pytest.mark.parametrize(
    ("point", "text"),
    [
        (POINT, "before Scheduler.__init__ (Engine.__init__:174)"),
        (changed(occurrence=2, line=0), "before Scheduler.__init__ #2 (Engine.__init__)"),
        (
            changed(level="opcodes", callee="LOAD_ATTR", kind="opcode"),
            "before LOAD_ATTR (Engine.__init__:174)",
        ),
        (changed(caller="m:outer.<locals>.inner"), "before Scheduler.__init__ (inner:174)"),
        (changed(callee="m:<lambda>"), "before <lambda> (Engine.__init__:174)"),
        (
            changed(stack=("a:A.f", "b:g", "c:h", "d:i", POINT.caller)),
            "before Scheduler.__init__ (Engine.__init__:174) via A.f > ... > h > i",
        ),
        (changed(stack=(POINT.caller,)), "before Scheduler.__init__ (Engine.__init__:174)"),
    ],
)
def test_a_point_is_described_in_one_short_form(point: Point, text: str) -> None:
    assert describe_point(point) == text


def test_a_short_name_has_neither_module_nor_enclosing_functions() -> None:
    assert short_name("a.b:f.<locals>.C.m") == "C.m"
    assert short_name("") == ""


def test_cases_are_every_point_with_every_fault_in_order() -> None:
    cases = make_cases("t", [POINT, changed(phase="after")], ["A", "B"])
    assert [(case.point.phase, case.fault) for case in cases] == [
        ("before", "A"),
        ("before", "B"),
        ("after", "A"),
        ("after", "B"),
    ]
    assert len({case.id for case in cases}) == 4


def test_a_case_is_found_by_its_id_by_the_beginning_of_it_and_by_a_longer_one() -> None:
    cases = make_cases("t", [POINT], ["A", "B"])
    digest = case_digest("t", POINT, "B")
    for wanted in (digest[:8], digest[:6], digest[:16], f" {digest[:8].upper()} "):
        assert find_case("t", cases, wanted).fault == "B"


def test_two_cases_that_share_eight_characters_get_sixteen(monkeypatch: pytest.MonkeyPatch) -> None:
    def same_start(target: str, point: Point, fault: str, times: int = 1, second: str = "") -> str:
        return "00000000" + {"A": "1", "B": "2"}[fault] * 56

    monkeypatch.setattr("faultinject.points.case_digest", same_start)
    cases = make_cases("t", [POINT], ["A", "B"])
    assert [case.id for case in cases] == ["00000000" + "1" * 8, "00000000" + "2" * 8]
    with pytest.raises(UsageError, match="fits 2 cases"):
        find_case("t", cases, "00000000")


SECONDS = ("pool.close/before/RuntimeError", "pool.close/before/hang")


def test_a_second_fault_makes_another_case_and_leaves_the_id_of_the_first_alone() -> None:
    plain = make_cases("t", [POINT], ["A", "B"])
    cases = make_cases("t", [POINT], ["A", "B"], seconds_at=lambda point, fault: SECONDS)
    assert cases[:2] == plain
    assert [(case.fault, case.second) for case in cases[2:]] == [(f, s) for f in "AB" for s in SECONDS]
    assert len({case.id for case in cases}) == 6
    assert find_case("t", cases, cases[-1].id) == cases[-1]
    assert cases[-1].id == case_id("t", POINT, "B", 1, SECONDS[1])


@pytest.mark.parametrize(
    ("second", "text"),
    [
        ("", "RuntimeError"),
        ("pool.close/after/OSError:ENOSPC", "RuntimeError, then OSError:ENOSPC after pool.close"),
        ("GC freeze.gc.unfreeze/before/hang", "RuntimeError, then hang in GC freeze.gc.unfreeze"),
    ],
)
def test_two_faults_are_said_in_the_order_in_which_they_come(second: str, text: str) -> None:
    assert describe_fault("RuntimeError", second) == text


def test_an_unknown_case_names_the_near_ones() -> None:
    cases = [Case("1a2b3c4d", POINT, "A"), Case("ffffffff", POINT, "B")]
    with pytest.raises(UsageError, match=r"no case '1a2b3c4e' among the 2 of t; near: 1a2b3c4d: give the"):
        find_case("t", cases, "1a2b3c4e")
    with pytest.raises(UsageError, match="no case id given"):
        find_case("t", cases, " ")


def test_levels_and_phases_are_known_by_name_only() -> None:
    assert parse_level("sites") == "sites"
    assert parse_phases("after, before") == ("before", "after")
    with pytest.raises(UsageError, match="unknown level 'step': choose one of steps, sites"):
        parse_level("step")
    with pytest.raises(UsageError, match="unknown phase 'while'"):
        parse_phases("while")
    with pytest.raises(UsageError, match="no phase given"):
        parse_phases(",")


@pytest.mark.parametrize("stack", [(), ("m:f", "m:C.g.<locals>.<lambda>")])
def test_the_text_of_a_point_is_read_again(stack: tuple[str, ...]) -> None:
    point = Point("stacks", "after", "m:C.__init__", "a b:c -d", 12, stack=stack)
    assert parse_point_key(point_key(point)) == point


@pytest.mark.parametrize(
    "text", ["", "steps before m:f", "steps before m:f -> m:g", "stips before m:f -> m:g #1",
             "steps during m:f -> m:g #1", "steps before m:f -> m:g #0", "steps before m:f -> m:g #x"]
)  # fmt: skip
def test_text_that_is_no_point_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no fault point"):
        parse_point_key(text)
