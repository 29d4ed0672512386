from __future__ import annotations

import datetime

import msgspec
import pytest

from faultinject.facts import CaseResult
from faultinject.gate import CHANGED, FAILED, PASSED, Baseline, Outcome, compare
from tests.gate._project import TODAY, TOMORROW, YESTERDAY, baseline, suppression
from tests.reports._sample import ENVIRONMENT, NESTED, POINTS, RECORDING, problem, result

CLEAN = [result(at) for at in POINTS]
LEAK = result(POINTS[4], problem())


def outcome(
    known: Baseline | None, *results: CaseResult, today: datetime.date = TODAY, **changes: object
) -> Outcome:
    """Of a sweep in which these cases came out as given, and the others clean."""
    by_id = {r.id: r for r in (*CLEAN, *results)}
    recording = msgspec.structs.replace(RECORDING, owned=(), **changes)
    return compare(known, recording, ENVIRONMENT, by_id, tuple(by_id), today)


def test_a_sweep_that_is_as_its_baseline_passes() -> None:
    found = outcome(baseline())
    assert found.status == PASSED
    assert not found.new
    assert not found.excused


def test_a_violation_that_is_not_listed_is_new() -> None:
    found = outcome(baseline(), LEAK)
    assert found.status == FAILED
    assert [[r.id for r in shown] for shown in found.new.values()] == [[LEAK.id]]


def test_a_violation_that_is_listed_is_excused_until_its_day_is_over() -> None:
    row = suppression(LEAK.id, expires=TODAY)
    assert outcome(baseline(row), LEAK).status == PASSED
    assert list(outcome(baseline(row), LEAK).excused) == [LEAK.id]
    over = outcome(baseline(row), LEAK, today=TOMORROW)
    assert over.status == FAILED
    assert over.expired == (row,)
    assert not over.excused
    assert not over.new


def test_a_day_that_is_near_is_told_and_does_not_fail() -> None:
    near, far = (suppression(LEAK.id, expires=TODAY + datetime.timedelta(days=n)) for n in (13, 14))
    assert outcome(baseline(near), LEAK).soon == (near,)
    assert outcome(baseline(far), LEAK).soon == ()


def test_a_violation_that_is_fixed_and_still_listed_fails() -> None:
    found = outcome(baseline(suppression(LEAK.id)))
    assert found.status == FAILED
    assert [stale.fixed for stale in found.stale] == [(LEAK.id,)]


def test_a_row_that_is_fixed_is_not_expired_too() -> None:
    found = outcome(baseline(suppression(LEAK.id, expires=YESTERDAY)))
    assert found.stale
    assert not found.expired


def test_a_listed_case_that_there_is_no_more_fails() -> None:
    found = outcome(baseline(suppression("deadbeef")))
    assert found.status == FAILED
    assert [(stale.fixed, stale.gone) for stale in found.stale] == [((), ("deadbeef",))]


@pytest.mark.parametrize("verdict", ["not-reached", "unstable"])
def test_what_nothing_is_known_of_is_neither_new_nor_fixed(verdict: str) -> None:
    unknown = msgspec.structs.replace(LEAK, verdict=verdict, violation=False)
    assert outcome(baseline(), unknown).status == PASSED
    assert outcome(baseline(suppression(LEAK.id)), unknown).status == PASSED


def test_a_case_that_did_not_run_is_neither_new_nor_fixed() -> None:
    known = baseline(suppression(LEAK.id))
    recording = msgspec.structs.replace(RECORDING, owned=())
    found = compare(known, recording, ENVIRONMENT, {}, (LEAK.id,), TODAY)
    assert found.status == PASSED


def test_the_same_violation_in_another_case_is_new() -> None:
    other = result(POINTS[6], problem())
    found = outcome(baseline(suppression(LEAK.id)), LEAK, other)
    assert [[r.id for r in shown] for shown in found.new.values()] == [[other.id]]


def test_something_else_wrong_with_a_listed_case_is_new() -> None:
    both = result(POINTS[4], problem(), problem("state", ("signals",)))
    found = outcome(baseline(suppression(LEAK.id)), both)
    assert [root.verdict for root in found.new] == ["state"]
    assert not found.excused
    more = result(POINTS[4], problem(resources=("executor", "scheduler")))
    assert outcome(baseline(suppression(LEAK.id)), more).status == FAILED


def test_two_of_a_kind_are_not_excused_by_one() -> None:
    two = result(POINTS[4], problem(resources=("fds", "fds#3")))
    assert outcome(baseline(suppression(LEAK.id, resources=("fds",))), two).new
    assert not outcome(baseline(suppression(LEAK.id, resources=("fds", "fds"))), two).new


def test_the_step_in_a_name_moves_with_an_edit_and_is_not_compared() -> None:
    one = result(POINTS[4], problem(resources=("fds#9",)))
    assert not outcome(baseline(suppression(LEAK.id, resources=("fds",))), one).new


def test_what_is_charged_beneath_the_target_is_not_the_targets() -> None:
    assert outcome(baseline(), result(POINTS[4], NESTED)).status == PASSED


def test_points_that_changed_are_for_review() -> None:
    fewer = baseline(points=baseline().points[:-2])
    found = outcome(fewer)
    assert found.status == CHANGED
    assert found.points.appeared == baseline().points[-2:]
    assert outcome(fewer, LEAK).status == FAILED


def test_ownership_that_changed_is_for_review() -> None:
    found = compare(
        baseline(), RECORDING, ENVIRONMENT, {r.id: r for r in CLEAN}, [r.id for r in CLEAN], TODAY
    )
    assert found.status == CHANGED
    assert len(found.owned) == 2


def test_what_is_injected_or_looked_at_less_is_for_review() -> None:
    assert outcome(baseline(faults=("RuntimeError",))).looked == (
        "KeyboardInterrupt is injected, and was not",
    )
    more = baseline(faults=("RuntimeError", "KeyboardInterrupt", "OSError:EMFILE"))
    assert outcome(more).looked == ("OSError:EMFILE is injected no more",)
    blind = outcome(baseline(absent_probes=()))
    assert blind.status == CHANGED
    assert blind.looked == ("the probe device memory could look, and cannot here: no GPU",)
    assert not outcome(baseline(absent_probes=("device memory", "zmq"))).looked


def test_without_a_baseline_everything_is_for_review_and_violations_are_new() -> None:
    assert outcome(None).status == CHANGED
    assert outcome(None, LEAK).status == FAILED
