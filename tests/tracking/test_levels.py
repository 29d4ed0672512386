from __future__ import annotations

import inspect
import types

import pytest

from faultinject.points import point_key
from faultinject.tracking._levels import NTH_CAP, STEP_CAP
from tests.tracking import _sample
from tests.tracking._follow import calls, record


def test_steps_are_the_calls_the_target_makes_itself_each_time() -> None:
    recorder, tracker = record(_sample.target)
    assert calls(recorder.points) == [
        ("target", "one", 1),
        ("target", "two", 1),
        ("target", "two", 2),
        ("target", "two", 3),
        ("target", "one", 2),
        ("target", "getpid", 1),
    ]
    assert [p.step for p in recorder.points if p.phase == "before"] == [1, 2, 3, 4, 5, 6]
    assert tracker.roots == [f"{_sample.__name__}:target"]


def test_each_point_has_both_phases_in_the_order_in_which_they_come() -> None:
    recorder, _ = record(_sample.both_ways)
    assert [(p.callee.partition(":")[2], p.phase) for p in recorder.points] == [
        ("left", "before"),
        ("left", "after"),
        ("right", "before"),
        ("right", "after"),
    ]


def test_sites_are_the_places_that_call_each_once() -> None:
    recorder, _ = record(_sample.target, "sites")
    assert sorted(calls(recorder.points)) == [
        ("target", "getpid", 1),
        ("target", "one", 1),
        ("target", "one", 2),
        ("target", "two", 1),
        ("two", "one", 1),
        ("two", "one", 2),
    ]


@pytest.mark.parametrize(
    ("depth", "number", "longest"),
    [(1, 4 + 1, 0), (2, 4 + 2, 1), (3, 4 + 2, 2), (4, 4 + 2, 2)],
)
def test_stacks_tell_the_same_site_apart_by_its_callers_to_a_depth(
    depth: int, number: int, longest: int
) -> None:
    recorder, _ = record(_sample.both_ways, "stacks", depth=depth)
    points = [p for p in recorder.points if p.phase == "before"]
    # left, right, and shared from each of them; and the call in shared, once for each stack told apart.
    assert len(points) == number
    inner = [p.stack for p in points if p.callee.endswith(":one")]
    assert max(len(stack) for stack in inner) == longest
    if depth >= 2:
        assert {stack[-1].partition(":")[2] for stack in inner} == {"left", "right"}


def test_opcodes_are_the_instructions_of_the_targets_own_frame() -> None:
    recorder, _ = record(_sample.target, "opcodes")
    assert {p.caller.partition(":")[2] for p in recorder.points} == {"target"}
    assert {p.kind for p in recorder.points} == {"opcode"}
    assert {p.phase for p in recorder.points} == {"before"}
    assert len(recorder.points) == len({(p.callee, p.occurrence) for p in recorder.points}) > 20
    assert any(p.callee.startswith("CALL") for p in recorder.points)


def test_nth_is_each_dynamic_call_at_any_depth() -> None:
    recorder, _ = record(_sample.target, "nth")
    assert [c for c in calls(recorder.points) if c[1] == "one"] == [
        ("target", "one", 1),
        *(("two", "one", number) for number in range(1, 7)),
        ("target", "one", 2),
    ]


@pytest.mark.parametrize(("level", "cap"), [("steps", STEP_CAP), ("nth", NTH_CAP)])
def test_a_loop_has_as_many_points_as_the_cap_and_the_rest_is_counted(level, cap: int) -> None:
    recorder, tracker = record(_sample.loop, level)
    assert len([c for c in calls(recorder.points) if c[1] == "one"]) == cap
    assert tracker.identifier.capped == 300 - cap


@pytest.mark.parametrize("level", ["steps", "sites", "stacks", "opcodes", "nth"])
def test_points_stay_the_same_when_an_edit_moves_the_lines(level) -> None:
    source = inspect.getsource(_sample)
    here = edited(source)
    moved = edited("# a comment\n\n" + source.replace("    for _ in", "\n    # another\n    for _ in"))
    first, _ = record(here.target, level)
    second, _ = record(moved.target, level)
    assert [point_key(p) for p in first.points] == [point_key(p) for p in second.points]
    assert [p.line for p in first.points] != [p.line for p in second.points]


def edited(source: str) -> types.ModuleType:
    module = types.ModuleType("edited")
    exec(compile(source, "edited.py", "exec"), vars(module))
    return module


def test_two_recordings_agree() -> None:
    first, _ = record(_sample.target, "nth")
    second, _ = record(_sample.target, "nth")
    assert first.points == second.points


def test_calls_that_release_are_left_out_unless_they_are_asked_for() -> None:
    plain, _ = record(_sample.with_guards, "sites")
    assert not [c for c in calls(plain.points) if "close" in c[0] + c[1]]
    asked, _ = record(_sample.with_guards, "sites", leave_out_guards=False)
    assert ("with_guards", "Thing.close", 1) in calls(asked.points)
    assert ("Thing.close", "one", 1) in calls(asked.points)


def test_a_step_that_releases_is_still_a_step() -> None:
    recorder, tracker = record(_sample.with_guards)
    assert [c[1] for c in calls(recorder.points)] == ["Thing.__init__", "one"]
    assert [p.step for p in recorder.points if p.phase == "before"] == [1, 3]
    assert tracker.step >= 3


def test_finalizers_are_left_out_unless_they_are_asked_for() -> None:
    plain, _ = record(_sample.with_guards, "sites")
    assert not [c for c in calls(plain.points) if "__del__" in c[0] + c[1]]
    asked, _ = record(_sample.with_guards, "sites", leave_out_guards=False, leave_out_finalizers=False)
    assert ("with_guards", "Thing.__del__", 1) in calls(asked.points)
    assert ("Thing.__del__", "one", 1) in calls(asked.points)


def test_asking_for_finalizers_alone_is_enough_to_get_them() -> None:
    asked, _ = record(_sample.with_guards, "sites", leave_out_finalizers=False)
    assert ("Thing.__del__", "one", 1) in calls(asked.points)


def test_weakref_callbacks_are_finalizers_too() -> None:
    gone = "with_callback.<locals>.gone"
    plain, _ = record(_sample.with_callback, "sites")
    assert not [c for c in calls(plain.points) if gone in c[0] + c[1]]
    asked, _ = record(_sample.with_callback, "sites", leave_out_finalizers=False)
    assert [c for c in calls(asked.points) if c[0] == gone] == [(gone, "one", 1)]


def test_a_callee_that_fails_by_itself_has_only_the_phase_before() -> None:
    recorder, _ = record(_sample.fails_inside, "sites")
    assert [p.phase for p in recorder.points if p.callee.endswith(":raises")] == ["before"]
    assert ("fails_inside", "one", 1) in calls(recorder.points)


def test_a_generator_is_one_call_however_often_it_goes_on() -> None:
    recorder, _ = record(_sample.runs_generator, "nth")
    assert [c for c in calls(recorder.points) if c[1] == "generates"] == [("runs_generator", "generates", 1)]
    assert [c[2] for c in calls(recorder.points) if c[0] == "generates"] == [1, 2]
