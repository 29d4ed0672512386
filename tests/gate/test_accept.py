from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from faultinject.errors import UsageError
from faultinject.facts import Case, CaseResult
from faultinject.gate import Baseline, GateSweep, Grant, accept, compare, parse_grant
from faultinject.gate._run import Ran
from faultinject.reports import Report, summarise
from faultinject.sweep import Options
from faultinject.targets import TargetSpec
from tests.gate._project import TODAY, TOMORROW, YESTERDAY, baseline, suppression
from tests.reports._sample import ENVIRONMENT, POINTS, RECORDING, TARGET, problem, result

GRANT = Grant("known", "bob", TOMORROW)
CLEAN = [result(at) for at in POINTS]
LEAK, OTHER = result(POINTS[4], problem()), result(POINTS[6], problem())


def swept(known: Baseline | None, *results: CaseResult) -> Ran:
    found = {r.id: r for r in (*CLEAN, *results)}
    cases = {r.id: Case(r.id, r.point, r.fault) for r in CLEAN}
    summary = summarise(list(found.values()), RECORDING)
    report = Report("", TARGET, "steps", ENVIRONMENT, POINTS, tuple(found.values()), RECORDING, summary)
    outcome = compare(known, RECORDING, ENVIRONMENT, found, tuple(cases), TODAY)
    sweep = GateSweep(Options(target=TargetSpec(TARGET)), Path("matrices"))
    return Ran(sweep, known, report, RECORDING, summary, "2.4.0", cases, outcome)


def after(known: Baseline | None, *results: CaseResult, grant: Grant | None = None) -> tuple[Baseline, int]:
    """The baseline that is accepted, and the status with it."""
    one = swept(known, *results)
    made = accept(one, grant, TODAY)
    return made, one.compared(made, TODAY).outcome.status


def test_points_ownership_and_what_is_looked_at_become_those_of_the_sweep() -> None:
    known = baseline(points=(), faults=(), absent_probes=())
    made, status = after(known)
    assert status == 0
    assert made.points == baseline().points
    assert [row.name for row in made.owned] == ["executor", "scheduler"]
    assert made.version == "2.4.0"


def test_a_new_violation_is_taken_in_with_a_grant_only() -> None:
    for known in (None, baseline()):
        made, status = after(known, LEAK)
        assert not made.suppression
        assert status == 1
        made, status = after(known, LEAK, grant=GRANT)
        (row,) = made.suppression
        assert (row.reason, row.owner, row.expires) == GRANT
        assert row.ids == {LEAK.id}
        assert status == 0


def test_one_with_a_root_that_is_listed_joins_it() -> None:
    made, status = after(baseline(suppression(LEAK.id)), LEAK, OTHER)
    (row,) = made.suppression
    assert row.ids == {LEAK.id, OTHER.id}
    assert (row.owner, status) == ("ann", 0)


def test_it_does_not_join_one_whose_day_is_over() -> None:
    made, status = after(baseline(suppression(LEAK.id, expires=YESTERDAY)), LEAK, OTHER)
    assert [row.ids for row in made.suppression] == [{LEAK.id}]
    assert status == 1


def test_what_has_expired_stays_for_a_person_to_decide() -> None:
    row = suppression(LEAK.id, expires=YESTERDAY)
    made, status = after(baseline(row), LEAK, grant=GRANT)
    assert made.suppression == (row,)
    assert status == 1


def test_what_is_fixed_or_gone_goes_and_the_rest_of_its_row_stays() -> None:
    made, status = after(baseline(suppression(LEAK.id, OTHER.id, "deadbeef"), suppression("0badcafe")), LEAK)
    (row,) = made.suppression
    assert row.ids == {LEAK.id}
    assert status == 0


def test_a_case_that_did_not_run_keeps_its_place() -> None:
    one = swept(baseline(suppression(LEAK.id)), LEAK)
    part = msgspec.structs.replace(one.report, cases=())
    less = Ran(one.sweep, one.baseline, part, one.recording, one.summary, "", one.cases, one.outcome)
    assert accept(less, None, TODAY).suppression == (suppression(LEAK.id),)


def test_the_cases_stand_in_the_order_of_the_sweep() -> None:
    made, _ = after(baseline(), OTHER, LEAK, grant=GRANT)
    (row,) = made.suppression
    assert [case.partition(" ")[0] for case in row.cases] == [LEAK.id, OTHER.id]
    assert row.cases[0] == f"{LEAK.id} before Engine._profile, RuntimeError"


def test_a_grant_is_whole_or_none() -> None:
    assert parse_grant("", "", "", TODAY) is None
    assert parse_grant("known", "bob", str(TOMORROW), TODAY) == GRANT


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("known", "", ""), "give --owner, --expires too"),
        (("", "bob", str(TOMORROW)), "give --reason too"),
        (("known", "bob", "soon"), "'soon' is no day"),
        (("known", "bob", str(YESTERDAY)), "is over"),
        (("  ", "bob", str(TOMORROW)), "give --reason too"),
    ],
)
def test_a_grant_that_lacks_something_is_refused(given: tuple[str, str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_grant(*given, TODAY)
