from __future__ import annotations

import pytest

from faultinject.facts import CaseResult, Problem
from faultinject.reports import findings, summarise
from tests.reports._sample import INIT, NESTED, POINTS, RECORDING, point, problem, result, sweep


def test_violations_of_one_root_are_one_finding_with_its_smallest_case() -> None:
    found = findings(sweep(), RECORDING)
    assert [(f.verdict, f.charged_to, f.resources, f.count, f.steady) for f in found] == [
        ("leak", INIT, ("executor",), 8, "3 of 3"),
        ("leak", INIT, ("executor", "scheduler"), 4, "3 of 3"),
    ]
    assert found[0].place == "before Engine._profile (Engine.__init__:17), RuntimeError"
    assert found[0].smallest == result(point(3)).id
    assert found[0].handler == "Engine.__init__ has no handler around line 17 that releases executor"
    assert "executor and scheduler" in found[1].handler


def test_the_order_of_the_cases_does_not_matter() -> None:
    assert findings(reversed(sweep()), RECORDING) == findings(sweep(), RECORDING)


def test_the_smallest_case_is_early_and_plain() -> None:
    leak = problem()
    late = result(point(4), leak)
    interrupt = result(point(3), leak, fault="KeyboardInterrupt")
    signal = result(point(3), leak, fault="SIGINT")
    disk = result(point(3), leak, fault="OSError:ENOSPC")
    after = result(point(3, "after"), leak)
    before = result(point(3), leak)
    for expected, cases in (
        (before, [late, signal, after, interrupt, before, disk]),
        (after, [late, signal, after, interrupt, disk]),
        (disk, [late, signal, interrupt, disk]),
        (interrupt, [late, signal, interrupt]),
        (signal, [late, signal]),
    ):
        assert findings(cases)[0].smallest == expected.id


def test_a_confirmed_case_speaks_before_an_earlier_screened_one() -> None:
    screened = result(point(3), problem(), confirmed=False, runs=())
    confirmed = result(point(4), problem())
    (finding,) = findings([screened, confirmed])
    assert (finding.smallest, finding.count, finding.steady) == (confirmed.id, 2, "3 of 3")


def test_several_problems_of_one_verdict_and_frame_are_one_set() -> None:
    (finding,) = findings([result(point(5), problem(resources=("executor",)), problem(resources=("gc",)))])
    assert finding.resources == ("executor", "gc")


def test_what_a_layer_beneath_lost_is_its_own_finding_after_those_of_the_target() -> None:
    found = findings([result(point(3), NESTED, problem())], RECORDING)
    assert [(f.violation, f.charged_to) for f in found] == [(True, INIT), (False, NESTED.charged_to)]
    assert found[1].handler == "Executor._connect has no handler that releases socket"


@pytest.mark.parametrize(
    ("wrong", "handler"),
    [
        (
            problem("state", ("gc frozen",)),
            "Engine.__init__ has no handler around line 17 that restores gc frozen",
        ),
        (
            problem("state", ()),
            "Engine.__init__ has no handler around line 17 that restores what it had changed",
        ),
        (
            problem("late", ("executor",)),
            "Engine.__init__ has no handler around line 17 that releases executor"
            " before the exception leaves",
        ),
        (
            problem("masked", ()),
            "the handler in Engine.__init__ around line 17 raised ValueError"
            " instead of the injected RuntimeError",
        ),
        (problem("double-release"), "Engine.__init__ releases executor a second time"),
        (problem("wrong-release"), "Engine.__init__ releases executor, which it does not own"),
        (problem("order", ("a", "b")), "Engine.__init__ releases a and b in the wrong order"),
        (
            problem("traceback", ()),
            "the handler in Engine.__init__ around line 17 passes the injected RuntimeError on altered",
        ),
        (
            problem("handled", ()),
            "the handler in Engine.__init__ around line 17 swallows the injected RuntimeError",
        ),
        (problem("hang", ()), "Engine.__init__ does not come back around line 17"),
        (problem("crash", ()), "the process dies while Engine.__init__ handles the fault around line 17"),
    ],
)
def test_a_finding_names_the_handler_or_the_missing_one(wrong: Problem, handler: str) -> None:
    (finding,) = findings([result(point(3), wrong, exception="ValueError: no attribute")], RECORDING)
    assert finding.handler == handler


def test_a_handler_that_misses_one_kind_of_fault_is_said_to_miss_it() -> None:
    missed = result(point(3), problem(), fault="KeyboardInterrupt")
    caught = result(point(3), fault="RuntimeError")
    (finding,) = findings([caught, missed])
    assert finding.handler == (
        "Engine.__init__ around line 17 releases executor on RuntimeError but not on KeyboardInterrupt"
    )


def test_beneath_a_step_the_line_is_that_of_the_targets_own_call() -> None:
    deep = point(3, level="sites", caller="acme.deep:f", callee="acme.deep:g", line=999)
    (finding,) = findings([result(deep, problem())], RECORDING)
    assert "around line 17 " in finding.handler


@pytest.mark.parametrize("verdict", ["clean", "handled", "not-reached", "unstable"])
def test_a_case_that_accuses_nobody_is_no_finding(verdict: str) -> None:
    assert findings([result(point(3), verdict=verdict)]) == ()  # type: ignore[arg-type]


def test_an_unsteady_case_is_listed_and_not_counted_as_a_finding() -> None:
    unsteady = result(point(3), problem(), verdict="unstable", violation=False)
    summary = summarise([unsteady], RECORDING)
    assert (summary.unsteady, summary.findings, summary.violations) == ((unsteady.id,), (), 0)


def test_a_result_without_problems_is_judged_by_its_own_fields() -> None:
    bare: CaseResult = result(
        point(5), verdict="leak", violation=True, charged_to=INIT, owned=("a", "b"), released=("a",)
    )
    (finding,) = findings([bare])
    assert (finding.resources, finding.violation) == (("b",), True)


def test_a_summary_counts_cases_violations_and_what_lies_beneath() -> None:
    cases = [*sweep(), result(POINTS[0], NESTED, fault="SystemExit")]
    summary = summarise(cases, RECORDING, seconds=2.5, seconds_by_stage={"screen": 1.5})
    assert (summary.cases, summary.violations, summary.nested) == (21, 12, 1)
    assert summary.verdicts == {"clean": 8, "leak": 13}
    assert (summary.complete, summary.seconds, summary.seconds_by_stage) == (True, 2.5, {"screen": 1.5})
    assert summary.confirmed == 21


def test_no_case_is_a_summary_too() -> None:
    summary = summarise([], RECORDING, complete=False)
    assert (summary.cases, summary.findings, summary.complete) == (0, (), False)
