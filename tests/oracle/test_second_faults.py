"""What a second fault, in one release of the clean-up, excuses, and what it does not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from faultinject.facts import CaseResult
from tests.oracle._facts import (
    CASE,
    POOL_CLOSED,
    RECORDING,
    SCHEDULER_SHUT_DOWN,
    TARGET,
    changed,
    left,
    raised,
    recording,
    verdict,
)

BEFORE = "pool.close/before/RuntimeError"
AFTER = "pool.close/after/KeyboardInterrupt"
HANG = "pool.close/before/hang"
FREEZE = "GC freeze.gc.unfreeze/before/RuntimeError"
FAILED = msgspec.structs.replace(POOL_CLOSED, failed=True)
OF_THE_POOL = left(step=1)
OF_THE_LOG = left(step=4)
STUCK = left(probe="threads", key="417:99", step=0)
OTHER_THREAD = left(probe="threads", key="418:99", step=0)
MADE_EARLIER = recording(
    owned=tuple(
        msgspec.structs.replace(row, step=3, made_in=1) if row.name == "pool" else row
        for row in RECORDING.owned
    )
)


def pair(second: str, /, **facts: Any) -> CaseResult:
    """The verdict of a case whose second fault came."""
    case = msgspec.structs.replace(CASE, second=second)
    usual = {"second_reached": True, "releases": (SCHEDULER_SHUT_DOWN, FAILED)}
    return verdict(facts.pop("of", RECORDING), case, **(usual | facts))


@pytest.mark.parametrize(
    ("second", "facts", "expected"),
    [
        (BEFORE, {}, "clean"),
        (BEFORE, {"left": (OF_THE_POOL,)}, "clean"),
        (BEFORE, {"left": (left(step=1, grade="dropped"),)}, "clean"),
        (BEFORE, {"left": (OF_THE_POOL, OF_THE_LOG)}, "leak"),
        (BEFORE, {"left": (left(step=1, nested=True, charged_to="m:Pool._open"),)}, "leak"),
        (BEFORE, {"left": (left(step=3),), "of": MADE_EARLIER}, "clean"),
        (BEFORE, {"left": (OF_THE_POOL,), "of": MADE_EARLIER}, "clean"),
        (AFTER, {}, "clean"),
        (AFTER, {"left": (OF_THE_POOL,)}, "leak"),
        (HANG, {"left": (OF_THE_POOL, STUCK), "second_thread": 417}, "clean"),
        (HANG, {"left": (STUCK, OTHER_THREAD), "second_thread": 417}, "leak"),
        (BEFORE, {"left": (STUCK,)}, "leak"),
        (FREEZE, {"state": (changed(step=3),)}, "clean"),
        (BEFORE, {"state": (changed(step=3),)}, "state"),
        (BEFORE, {"releases": (FAILED,)}, "leak"),
        (BEFORE, {"releases": (SCHEDULER_SHUT_DOWN, FAILED, POOL_CLOSED)}, "double-release"),
        (BEFORE, {"raised": raised(same_object=False, is_second=True, replaced_in=TARGET)}, "masked"),
        (HANG, {"stage": "fault", "timed_out": True, "raised": None}, "hang"),
        (HANG, {"clean_up_seconds": 6.0}, "hang"),
        (BEFORE, {"retry": "OSError: in use", "retry_differs": ("fds: 2 instead of 1",)}, "clean"),
        (AFTER, {"retry": "OSError: in use"}, "state"),
    ],
)
def test_what_the_failing_release_alone_held_is_excused(
    second: str, facts: dict[str, Any], expected: str
) -> None:
    assert pair(second, **facts).verdict == expected


@pytest.mark.parametrize(
    ("second", "how"),
    [(BEFORE, "after the release of pool failed"), (HANG, "after the release of pool hung")],
)
def test_what_is_left_says_that_a_release_had_failed(second: str, how: str) -> None:
    leak = pair(second, releases=(FAILED,)).problems[0]
    assert leak.what == f"scheduler: shutdown() never called, {how}"


def test_the_fault_of_the_release_is_named_where_it_came_out() -> None:
    result = pair(BEFORE, raised=raised(same_object=False, is_second=True, replaced_in=TARGET))
    assert "the fault of the release, came out instead" in result.problems[0].what


def test_a_second_fault_that_never_came_excuses_nothing_and_is_said() -> None:
    plain = verdict(releases=(SCHEDULER_SHUT_DOWN,), left=(OF_THE_POOL,))
    result = pair(BEFORE, second_reached=False, releases=(SCHEDULER_SHUT_DOWN,), left=(OF_THE_POOL,))
    assert (result.verdict, result.problems) == (plain.verdict, plain.problems) == ("leak", plain.problems)
    assert not result.second_reached
    assert "pool.close() was not called" in result.notes[0]
    assert pair(BEFORE).notes == ()
