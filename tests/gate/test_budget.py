from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultinject.errors import UsageError
from faultinject.facts import Case, Point
from faultinject.gate import parse_duration
from faultinject.gate._budget import batches, in_turn
from faultinject.points import point_key

NONE: frozenset[str] = frozenset()


def cases(number: int, faults: int = 1) -> list[Case]:
    return [
        Case(f"{n}-{fault}", Point("sites", "before", "m:f", f"m:c{n}", 1), f"F{fault}")
        for n in range(number)
        for fault in range(faults)
    ]


def order(*given: object) -> list[str]:
    return [point[0].point.callee for point in in_turn(*given)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "seconds"), [("5m", 300), ("90s", 90), ("45", 45), ("1h30m", 5400), ("2h", 7200), (" 1M ", 60)]
)
def test_a_time_is_read_as_people_write_it(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "5 minutes", "-5m", "1.5h", "0", "0m", "5m1h"])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"no time|leaves no time"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["9" * 400 + "h", "9" * 5000, "1001h", "9999999m"])
def test_a_time_that_no_machine_waits_for_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="at most 1000h") as caught:
        parse_duration(text)
    assert len(str(caught.value)) < 300


def test_all_cases_of_a_point_run_together() -> None:
    points = in_turn(cases(5, faults=3), NONE, NONE, 1)
    assert [len(point) for point in points] == [3] * 5
    assert all(len({case.point for case in point}) == 1 for point in points)


def test_changed_points_come_first_then_those_that_never_ran() -> None:
    every = cases(20)
    keys = [point_key(case.point) for case in every]
    found = order(every, frozenset(keys[3:5]), frozenset(keys[4:8]), 7)
    assert set(found[:2]) == {"m:c3", "m:c4"}
    assert set(found[2:5]) == {"m:c5", "m:c6", "m:c7"}
    assert len(found) == len(set(found)) == 20


def test_the_seed_decides_the_order_and_nothing_else_does() -> None:
    every = cases(30)
    assert order(every, NONE, NONE, 4) == order(list(reversed(every)), NONE, NONE, 4)
    assert order(every, NONE, NONE, 4) != order(every, NONE, NONE, 5)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 120), st.integers(1, 10), st.integers(0, 10**6))
def test_runs_that_follow_each_other_have_all_points_in_time(number: int, part: int, first: int) -> None:
    """Each run manages one part in `part`; nothing is remembered from one to the next."""
    every = cases(number)
    share = -(-number // part)
    had: set[str] = set()
    for seed in range(first, first + 2 * part + 1):
        had.update(order(every, NONE, NONE, seed)[:share])
    assert len(had) == number


class Clock:
    """Goes on only as cases run."""

    def __init__(self, each: float) -> None:
        self.now, self.each = 0.0, each

    def __call__(self) -> float:
        return self.now

    def run(self, found: Iterator[list[Case]]) -> list[Case]:
        done = []
        for batch in found:
            self.now += self.each * len(batch)
            done += batch
        return done


def test_as_many_run_as_there_is_time_for() -> None:
    clock = Clock(1.0)
    done = clock.run(batches(in_turn(cases(1000), NONE, NONE, 1), 60.0, clock))
    assert 50 <= len(done) <= 60
    assert clock.now <= 60.0


def test_with_time_enough_all_run_once() -> None:
    clock = Clock(0.01)
    done = clock.run(batches(in_turn(cases(100, 2), NONE, NONE, 1), 60.0, clock))
    assert sorted(case.id for case in done) == sorted(case.id for case in cases(100, 2))


def test_without_any_time_the_first_few_run() -> None:
    clock = Clock(5.0)
    assert len(clock.run(batches(in_turn(cases(100), NONE, NONE, 1), 0.0, clock))) == 4
