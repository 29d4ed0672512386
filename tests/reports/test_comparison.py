"""Two matrices side by side: which row is which, what is said of each target, and what fits the screen."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from faultinject.errors import UsageError
from faultinject.facts import CaseResult, Level, Point, Recording, Step
from faultinject.reports import Side, make_console, print_comparison, summarise, write_comparison
from faultinject.reports._aligned import align, beneath, callees_of, rows_of
from tests.reports._sample import ENVIRONMENT, problem, result

INIT = "acme:Old.__init__"


def recording(
    target: str, callees: tuple[str, ...], *, level: Level = "steps", frame: str = INIT
) -> Recording:
    points = tuple(
        Point("steps", "before", frame, callee, callees[:number].count(callee), step=number)
        for number, callee in enumerate(callees, 1)
    )
    steps = tuple(Step(number, callee, 10 + number) for number, callee in enumerate(callees, 1))
    return Recording(target, level, points, steps, (), frame=frame)


def cases(recorded: Recording, verdicts: dict[int, Any], **changes: Any) -> list[CaseResult]:
    """A case at each point, clean unless `verdicts` says otherwise of its step."""
    return [
        result(point, *verdicts.get(point.step, ()), **changes)
        for point in (msgspec.structs.replace(p, level=recorded.level) for p in recorded.points)
    ]


def side(recorded: Recording, results: list[CaseResult], *, color: bool = False, width: int = 100) -> Side:
    made = Side(make_console(io.StringIO(), width=width, color=color), recorded.target)
    made.start(recorded, ENVIRONMENT, len(results))
    for one in results:
        made.case(one)
    made.finish(summarise(results, recorded))
    return made


def printed(a: Side, b: Side, *, width: int = 100, color: bool = False) -> str:
    console = make_console(io.StringIO(), width=width, color=color)
    print_comparison(console, a, b)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def names(a: Recording, b: Recording) -> list[tuple[str, str]]:
    common = callees_of(a) & callees_of(b)
    rows = align(rows_of(a, cases(a, {}), common), rows_of(b, cases(b, {}), common))
    return [tuple(row.callee.partition(":")[2] if row else "" for row in pair) for pair in rows]  # type: ignore[misc]


def test_the_same_call_of_both_is_one_row_and_any_other_stands_where_it_is_made() -> None:
    a = recording("acme:Old", ("m:open", "m:fill", "m:close"))
    b = recording("acme:New", ("m:check", "m:open", "m:guard", "m:close"), frame="acme:New.__init__")

    assert names(a, b) == [
        ("", "check"), ("open", "open"), ("", "guard"), ("fill", ""), ("close", "close"),
    ]  # fmt: skip


def test_calls_of_the_same_thing_are_told_apart_by_their_order() -> None:
    a = recording("acme:Old", ("m:open", "m:open"))
    b = recording("acme:New", ("m:open",), frame="acme:New.__init__")

    assert names(a, b) == [("open", "open"), ("open", "")]


def test_a_method_of_the_targets_own_class_is_the_same_in_the_other_class() -> None:
    a = recording("acme:Old", ("acme:Old._fill", "acme:Older.fill"))
    b = recording("acme:New", ("acme:New._fill",), frame="acme:New.__init__")

    assert names(a, b) == [("Old._fill", "New._fill"), ("Older.fill", "")]


def test_a_method_that_the_other_class_inherits_is_the_same_in_both() -> None:
    a = recording("acme:Old", ("acme:Old._fill", "acme:Old._check"))
    b = recording("acme:New", ("acme:Old._fill", "acme:New._check"), frame="acme:New.__init__")

    assert names(a, b) == [("Old._fill", "Old._fill"), ("Old._check", "New._check")]


def test_whichever_own_frame_makes_a_call_it_is_the_targets() -> None:
    a = recording("acme:Old", ("m:open", "m:open"))
    elsewhere = msgspec.structs.replace(a.points[1], caller="acme:Base.__init__", occurrence=1)
    b = msgspec.structs.replace(a, target="acme:New", points=(a.points[0], elsewhere))

    assert names(a, b) == [("open", "open"), ("open", "open")]


def test_at_other_levels_a_case_belongs_to_the_call_within_which_it_lies() -> None:
    recorded = recording("acme:Old", ("m:open", "m:fill"), level="opcodes")
    places = ((1, 0), (2, 2), (3, 2))
    points = [Point("opcodes", "before", INIT, "LOAD_FAST", number, step=step) for number, step in places]
    rows = list(rows_of(recorded, [result(point) for point in points]).values())

    assert [(row.callee, row.step) for row in rows] == [("", 0), ("m:open", 1), ("m:fill", 2)]
    assert [row.words.get("before", {}).get("clean", 0) for row in rows] == [1, 0, 2]


def test_what_is_charged_beneath_is_counted_by_name_and_verdict() -> None:
    recorded = recording("acme:Old", ("m:open", "m:fill", "m:close"))
    nested = problem(charged_to="m:Layer.__init__", violation=False)
    late = problem("late", charged_to="m:Other.start", violation=False)
    found = beneath(cases(recorded, {1: (nested,), 2: (nested, late), 3: (problem(),)}))

    assert {name: dict(verdicts) for name, verdicts in found.items()} == {
        "m:Layer.__init__": {"leak": 2}, "m:Other.start": {"late": 1},
    }  # fmt: skip
    assert next(iter(found)) == "m:Layer.__init__"


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (2, 0, "acme:New has no violation at level steps, acme:Old has 2."),
        (0, 1, "acme:New has 1 violation at level steps, acme:Old has none."),
        (2, 1, "acme:New has 1 violation at level steps, acme:Old has 2."),
        (0, 0, "Neither acme:Old nor acme:New has a violation at level steps."),
    ],
)
def test_the_last_sentence_says_which_has_how_many(before: int, after: int, sentence: str) -> None:
    a, b = (recording(name, ("m:open", "m:fill")) for name in ("acme:Old", "acme:New"))
    leaks = [{step: (problem(),) for step in range(1, number + 1)} for number in (before, after)]

    text = printed(side(a, cases(a, leaks[0])), side(b, cases(b, leaks[1])))

    assert text.splitlines()[-1] == sentence


def test_long_names_and_many_verdicts_fit_a_hundred_columns() -> None:
    callees = tuple(f"some.module:AVeryLongNameOfAClass.with_an_even_longer_method_{n}" for n in range(4))
    a, b = (recording(name, callees) for name in ("acme:Old", "acme:New"))
    many = [
        changed
        for fault, verdict in enumerate(("double-release", "wrong-release", "leak", "not-reached"))
        for phase in ("before", "after")
        for changed in (
            result(msgspec.structs.replace(point, phase=phase), problem(verdict), fault=f"E{fault}")  # type: ignore[arg-type]
            for point in a.points
        )
    ]
    lines = printed(side(a, many), side(b, many)).split("\nA: ")[1].splitlines()

    assert max(map(len, lines[2:-6])) <= 100
    assert any("4 double" in line or "1 double" in line for line in lines)


def test_colours_are_for_a_terminal_only() -> None:
    a, b = (recording(name, ("m:open",)) for name in ("acme:Old", "acme:New"))
    sides = side(a, cases(a, {1: (problem(),)})), side(b, cases(b, {}))

    assert "\x1b" not in printed(*sides)
    assert "\x1b[1;31m" in printed(*sides, color=True)


def test_the_document_holds_what_there_is(tmp_path: Path) -> None:
    a = recording("acme:Old", ("m:open",))
    first = side(a, cases(a, {1: (problem(),)}))
    second = Side(first.console, "acme:New")
    write_comparison(tmp_path / "both.json", first, second)

    document = json.loads((tmp_path / "both.json").read_text())
    assert document["a"]["summary"]["violations"] == 1
    assert document["b"] is None
    with pytest.raises(UsageError, match="cannot write the comparison"):
        write_comparison(tmp_path / "nowhere" / "both.json", first, second)
