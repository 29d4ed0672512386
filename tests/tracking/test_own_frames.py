from __future__ import annotations

import os

import pytest

from faultinject.facts import Point
from faultinject.points import point_key
from tests.tracking import _own_sample as sample
from tests.tracking import _sample
from tests.tracking._follow import calls, record

ME = sample.__name__
C_TYPES = {"map", "suppress.__init__", "suppress.__enter__", "suppress.__exit__"}
"""Calls that an interpreter shows or does not."""


def seen(points: list[Point]) -> list[tuple[str, str, int]]:
    return [call for call in calls(points) if call[1] not in C_TYPES]


def numbered(points: list[Point], *callees: str) -> list[tuple[str, str, int]]:
    """(callee, phase, step), in time, of the calls of interest."""
    named = [(p.callee.partition(":")[2], p.phase, p.step) for p in points]
    return [call for call in named if not callees or call[0] in callees]


def own(*names: str) -> tuple[str, ...]:
    return tuple(f"{ME}:{name}" for name in names)


def test_the_calls_of_a_base_class_are_points_where_its_constructor_is_own() -> None:
    recorder, _ = record(sample.Derived, own=own("Base.__init__"))
    assert calls(recorder.points) == [
        ("Derived.__init__", "Base.__init__", 1),
        ("Base.__init__", "one", 1),
        ("Base.__init__", "two", 1),
        ("Derived.__init__", "one", 1),
    ]


def test_without_it_the_whole_base_class_is_one_call() -> None:
    recorder, _ = record(sample.Derived)
    assert calls(recorder.points) == [
        ("Derived.__init__", "Base.__init__", 1),
        ("Derived.__init__", "one", 1),
    ]


def test_globs_that_fit_nothing_change_nothing() -> None:
    plain, _ = record(_sample.target)
    named, _ = record(_sample.target, own=("other.*", f"{ME}:nobody"))
    assert plain.points == named.points


def test_a_call_within_which_others_are_numbered_has_a_number_for_its_end_too() -> None:
    recorder, tracker = record(sample.Derived, own=own("Base.__init__"))
    assert numbered(recorder.points) == [
        ("Base.__init__", "before", 1),
        ("one", "before", 2),
        ("one", "after", 2),
        ("two", "before", 3),
        ("two", "after", 3),
        ("Base.__init__", "after", 4),
        ("one", "before", 5),
        ("one", "after", 5),
    ]
    assert tracker.step == 5


@pytest.mark.parametrize("level", ["steps", "sites", "stacks", "nth"])
def test_steps_have_the_same_numbers_at_every_level_of_calls(level) -> None:
    recorder, tracker = record(sample.Derived, level, own=own("Base.__init__"))
    found = {p.step for p in recorder.points if p.caller.endswith(("Base.__init__", "Derived.__init__"))}
    assert (found, tracker.step) == ({1, 2, 3, 4, 5}, 5)


def test_steps_are_kept_in_the_order_of_time_and_say_who_called() -> None:
    numbers: list[int] = []

    def target() -> None:
        numbers.extend(sample.OpensMore().numbers)

    _, tracker = record(target, probes=("fds",), products=[], own=own("OpensMore.__init__", "Opens.__init__"))
    for number in numbers:
        os.close(number)
    found = [
        (s.number, s.caller.rpartition(".<locals>.")[2].rpartition(":")[2], s.callee.rpartition(":")[2])
        for s in tracker.steps
    ]
    assert found == [
        (1, "target", "OpensMore.__init__"),
        (2, "OpensMore.__init__", "Opens.__init__"),
        (3, "Opens.__init__", "open"),
        (4, "Opens.__init__", "open"),
        (5, "OpensMore.__init__", "Opens.__init__"),
        (6, "OpensMore.__init__", "open"),
        (7, "OpensMore.__init__", "list.append"),
        (8, "target", "OpensMore.__init__"),
        (9, "target", "list.extend"),
    ]
    assert [s.number for s in tracker.steps if s.acquired] == [3, 4, 6]


def test_a_frame_is_own_only_if_all_beneath_it_are() -> None:
    recorder, _ = record(sample.through_a_stranger, own=own("helper"))
    assert calls(recorder.points) == [("through_a_stranger", "stranger", 1)]
    both, _ = record(sample.through_a_stranger, own=own("helper", "stranger"))
    assert calls(both.points) == [
        ("through_a_stranger", "stranger", 1),
        ("stranger", "helper", 1),
        ("helper", "one", 1),
    ]


def test_a_constructor_that_a_c_function_calls_back_is_a_call_of_the_own_frame() -> None:
    recorder, _ = record(sample.acquires_twice, own=own("acquire"))
    assert seen(recorder.points) == [
        ("acquires_twice", "acquire", 1),
        ("acquire", "list.extend", 1),
        ("acquire", "Handle.__init__", 1),
        ("acquire", "list.pop", 1),
        ("acquires_twice", "acquire", 2),
        ("acquire", "list.extend", 2),
        ("acquire", "Handle.__init__", 2),
        ("acquire", "list.pop", 2),
    ]
    first = numbered(recorder.points, "list.extend", "Handle.__init__", "acquire")[:6]
    assert [(callee, phase) for callee, phase, _ in first] == [
        ("acquire", "before"),
        ("list.extend", "before"),
        ("Handle.__init__", "before"),
        ("Handle.__init__", "after"),
        ("list.extend", "after"),
        ("acquire", "after"),
    ]
    steps = [step for _, _, step in first]
    assert steps == sorted(steps)
    assert len(set(steps)) == 5


def test_other_python_code_that_a_c_function_calls_back_is_part_of_that_call() -> None:
    recorder, _ = record(sample.sorts, own=own("acquire"))
    assert calls(recorder.points) == [("sorts", "sorted", 1)]


def test_an_own_frame_is_one_however_it_is_called() -> None:
    recorder, _ = record(sample.maps_a_helper, own=own("helper"))
    assert seen(recorder.points) == [
        ("maps_a_helper", "list.extend", 1),
        ("maps_a_helper", "helper", 1),
        ("helper", "one", 1),
        ("maps_a_helper", "helper", 2),
        ("helper", "one", 2),
        ("maps_a_helper", "list.clear", 1),
    ]


def test_what_a_constructor_called_back_returns_is_a_product_of_that_step() -> None:
    products: list = []
    record(sample.acquires_twice, products=products, own=own("acquire"))
    assert [(p.name.rpartition(":")[2], p.type_name) for p in products] == [
        ("Handle.__init__#1", "Handle"),
        ("Handle.__init__#2", "Handle"),
    ]
    assert [[name.rpartition(":")[2] for _, name in p.path] for p in products] == [[], []]


def test_a_constructor_is_known_whatever_its_decorator_calls_it() -> None:
    products: list = []
    recorder, _ = record(sample.acquires_announced, products=products, own=own("acquire"))
    assert ("acquire", "announced.<locals>.wrapper", 1) in calls(recorder.points)
    assert [p.type_name for p in products] == ["Announced"]


def test_what_an_owner_hands_over_is_known_by_the_frame_that_received_it() -> None:
    owners = {f"{ME}:Handle.__init__#2": "handle"}
    kept: list[object] = []

    def target() -> None:
        kept.extend((sample.acquire(sample.Handle), sample.acquire(sample.Handle)))

    _, tracker = record(target, owners=owners, own=own("acquire"))
    (owned,) = tracker.owned
    assert owned.name == "handle"
    assert owned.is_it(kept[1])
    assert [name.rpartition(":")[2].rpartition(".")[2] for _, name in owned.path] == ["target", "acquire"]


def test_the_stack_of_an_own_frame_goes_back_when_it_is_left_by_an_exception() -> None:
    recorder, _ = record(sample.fails_inside_a_helper, own=own("raises"))
    assert [c for c in seen(recorder.points) if c[1] in ("raises", "one")] == [
        ("fails_inside_a_helper", "raises", 1),
        ("raises", "one", 1),
        ("fails_inside_a_helper", "one", 1),
    ]
    raising, inside, after = numbered([p for p in recorder.points if p.phase == "before"], "raises", "one")
    assert raising[2] < inside[2] < after[2] - 1


def test_a_coroutine_stays_own_from_one_resumption_to_the_next() -> None:
    # The tool's own frames run a coroutine in life; here the loop is the outermost frame.
    recorder, _ = record(sample.runs_coroutine, own=own("waits", "inner"))
    found = [c for c in seen(recorder.points) if c[0] in ("waits", "inner")]
    assert [c for c in found if not c[1].startswith("pause")] == [
        ("waits", "inner", 1),
        ("inner", "one", 1),
        ("inner", "two", 1),
        ("waits", "one", 1),
    ]


def test_a_context_managers_generator_is_own_where_contextlibs_entry_is_named_too() -> None:
    alone, _ = record(sample.enters, own=own("entered"))
    assert ("entered", "one", 1) not in calls(alone.points)
    entry = "contextlib:_GeneratorContextManager.__enter__"
    both, _ = record(sample.enters, own=(*own("entered"), entry))
    assert ("entered", "one", 1) in calls(both.points)


def test_what_the_collector_calls_is_nobodys_own() -> None:
    recorder, _ = record(sample.collects, own=(f"{ME}:*",))
    assert not [c for c in calls(recorder.points) if "__del__" in c[0]]


def test_a_release_is_no_point_and_hides_what_it_calls_in_an_own_frame_too() -> None:
    recorder, _ = record(sample.closes, own=(f"{ME}:*",))
    assert not [c for c in calls(recorder.points) if "close" in c[1] or c[0] == "Transaction.close"]


def test_the_instructions_of_every_own_frame_are_points() -> None:
    recorder, _ = record(sample.Derived, "opcodes", own=own("Base.__init__"))
    callers = [p.caller.rpartition(":")[2] for p in recorder.points]
    first, last = callers.index("Base.__init__"), len(callers) - 1 - callers[::-1].index("Base.__init__")
    assert set(callers[first : last + 1]) == {"Base.__init__"}
    assert set(callers[:first]) == set(callers[last + 1 :]) == {"Derived.__init__"}
    steps = [p.step for p in recorder.points]
    assert steps == sorted(steps)


def test_the_instructions_of_an_own_frame_that_runs_again_are_points_again() -> None:
    once, _ = record(lambda: sample.acquire(sample.Handle), "opcodes", own=own("acquire"))
    twice, _ = record(sample.acquires_twice, "opcodes", own=own("acquire"))
    number = sum(p.caller.endswith(":acquire") for p in once.points)
    assert number > 5
    assert sum(p.caller.endswith(":acquire") for p in twice.points) == 2 * number
    assert len({point_key(p) for p in twice.points}) == len(twice.points)


def test_the_instructions_of_the_same_code_beneath_another_frame_are_none() -> None:
    def target() -> None:
        sample.helper(1)
        sample.stranger()

    both, _ = record(target, "opcodes", own=own("helper"))
    alone, _ = record(lambda: sample.helper(1), "opcodes", own=own("helper"))
    of_helper = [[p for p in r.points if p.caller.endswith(":helper")] for r in (both, alone)]
    assert len(of_helper[0]) == len(of_helper[1]) > 3
