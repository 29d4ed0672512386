from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from faultinject.facts import Owned
from faultinject.gate import OwnedRow
from faultinject.gate._changes import (
    Move,
    describe_keys,
    describe_moves,
    owned_rows,
    ownership_changes,
    point_changes,
)


def keys(
    *callees: str, caller: str = "m:C.__init__", phase: str = "before", level: str = "steps"
) -> list[str]:
    return [f"{level} {phase} {caller} -> m:{callee} #1" for callee in callees]


def test_a_call_more_has_appeared_and_one_less_has_vanished() -> None:
    changes = point_changes(keys("a", "b", "c"), keys("a", "x", "c"), "steps")
    assert changes.appeared == tuple(keys("x"))
    assert changes.vanished == tuple(keys("b"))
    assert not changes.moved


def test_a_call_that_another_frame_makes_now_has_moved() -> None:
    before = keys("a", "b")
    after = [*keys("a"), *keys("b", caller="m:C.helper")]
    changes = point_changes(before, after, "steps")
    assert changes.moved == (Move(before[1], after[1]),)
    assert not changes.appeared
    assert not changes.vanished
    assert describe_moves(changes.moved) == ["b: called by C.helper, and was by C.__init__"]


def test_a_call_in_the_other_phase_has_not_moved() -> None:
    changes = point_changes(keys("a"), keys("a", phase="after", caller="m:D"), "steps")
    assert not changes.moved


def test_of_calls_in_another_order_the_fewest_have_moved() -> None:
    changes = point_changes(keys("a", "b", "c", "d"), keys("b", "c", "d", "a"), "steps")
    assert changes.moved == (Move(*keys("a", "a")),)
    assert describe_moves(changes.moved) == ["a (C.__init__) comes in another order"]


def test_deeper_the_order_is_that_of_threads_and_means_nothing() -> None:
    before, after = keys("a", "b", level="sites"), keys("b", "a", level="sites")
    assert not point_changes(before, after, "sites")


@settings(deadline=None, max_examples=40)
@given(st.permutations(range(8)), st.sets(st.integers(0, 11)), st.sets(st.integers(0, 11)))
def test_moved_points_are_those_without_which_the_order_is_kept(
    order: list[int], gone: set[int], new: set[int]
) -> None:
    before = [f"steps before m:f -> m:c{n} #1" for n in range(8) if n not in gone]
    after = [f"steps before m:f -> m:c{n} #1" for n in [*order, *range(8, 12)] if n < 8 or n in new]
    changes = point_changes(before, after, "steps")
    out = {move.after for move in changes.moved}
    rest = [key for key in after if key not in out and key in before]
    assert rest == [key for key in before if key in rest]
    assert set(changes.appeared) == set(after) - set(before)
    assert set(changes.vanished) == set(before) - set(after)


def test_the_same_points_have_no_change() -> None:
    assert not point_changes(keys("a", "b"), keys("a", "b"), "steps")


def test_both_phases_of_a_call_are_one_line() -> None:
    both = [*keys("a"), *keys("a", phase="after"), *keys("b", phase="after")]
    assert describe_keys(both) == ["before and after a (C.__init__)", "after b (C.__init__)"]


BEFORE = (
    OwnedRow("executor", "m:Executor", "shutdown", "self.executor", 1),
    OwnedRow("fds", "m:pipe"),
    OwnedRow("scheduler", "m:Scheduler", "close", "self.scheduler", 2),
)


def test_ownership_that_is_the_same_has_no_change() -> None:
    assert ownership_changes(BEFORE, BEFORE) == ()


def test_each_change_of_ownership_is_told() -> None:
    after = (
        OwnedRow("executor", "m:Other", "stop", "self.pool", 2),
        OwnedRow("scheduler", "m:Scheduler", "close", "self.scheduler", 1),
        OwnedRow("heap", "m:freeze", "gc.unfreeze"),
    )
    assert ownership_changes(BEFORE, after) == (
        "executor comes from Other, and came from Executor",
        "executor is given back by stop, and was by shutdown",
        "executor is kept in self.pool, and was in self.executor",
        "heap is owned from freeze on, and was not",
        "fds is owned no more; it was from pipe on",
        "the target's own shutdown has the order scheduler, executor, and had executor, scheduler",
    )


def test_something_more_does_not_put_the_rest_in_another_order() -> None:
    more = OwnedRow("output", "m:Output", "clear", "self.output", 1)
    after = (OwnedRow("executor", "m:Executor", "shutdown", "self.executor", 2), BEFORE[1],
             OwnedRow("scheduler", "m:Scheduler", "close", "self.scheduler", 3), more)  # fmt: skip
    assert ownership_changes(BEFORE, after) == ("output is owned from Output on, and was not",)


def test_of_a_thread_it_is_not_held_what_ran_while_it_went() -> None:
    thread = Owned("threads#3", 3, "threading:Thread.start", "lock.release", amounts=("+1 threads",), order=2)
    pool = Owned("pool", 2, "m:Pool.__init__", "close", "self.pool", order=1, made_in=2)
    frozen = Owned("GC freeze", 4, "m:freeze", "gc.unfreeze", amounts=("GC frozen",), order=3)
    assert owned_rows([thread, pool, frozen]) == (
        OwnedRow("pool", "m:Pool.__init__", "close", "self.pool", 1),
        OwnedRow("threads", "threading:Thread.start"),
        OwnedRow("GC freeze", "m:freeze", "gc.unfreeze", order=3),
    )
