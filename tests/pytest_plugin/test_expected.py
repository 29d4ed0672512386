"""What of a case fails its test, where a mark or a committed file expects some of it."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

import pytest

from faultinject.facts import CaseResult, Point, Problem, Recording, Verdict
from faultinject.gate import Baseline, Suppression
from faultinject.pytest_plugin._expected import rule, with_baseline
from faultinject.pytest_plugin._planned import Plan, Planned
from faultinject.pytest_plugin._settings import Settings
from faultinject.sweep import Options
from faultinject.targets import TargetSpec

FRAME = "client:Client.__init__"
RECORDING = Recording("client:Client", "steps", (), (), ())
TODAY = datetime.date(2026, 6, 1)


def case(*verdicts: Verdict) -> CaseResult:
    problems = tuple(Problem(verdict, FRAME, True, "wrong", ("fds",)) for verdict in verdicts)
    return CaseResult(
        "0123abcd", Point("steps", "before", FRAME, "client:Client.greet", 1), "before", "RuntimeError",
        verdicts[0] if verdicts else "clean", bool(verdicts), FRAME if verdicts else "", ("fds",), (), (), "",
        "zygote", 0.1, problems,
    )  # fmt: skip


def settings(
    baseline: str = "none", allow: Sequence[str] = (), matrices: Path = Path("matrices")
) -> Settings:
    return Settings(
        Options(target=TargetSpec("client:Client")), matrices, baseline, 0, 0, tuple(allow), False
    )


def suppression(verdict: Verdict, expires: datetime.date) -> Suppression:
    return Suppression(verdict, FRAME, ("0123abcd before greet",), "the pool waits", "ops", expires, ("fds",))


def of_gate(*rows: Suppression) -> Plan:
    gate = Baseline(1, "client:Client", "steps", suppression=rows)
    return Plan((), (), 0, kind="baseline", gate=gate)


def accused(result: CaseResult, word: str, plan: Plan, given: Settings) -> list[str]:
    ruling = rule(result, Planned("case", "", word=word), plan, given, RECORDING, TODAY)
    return [root.verdict for root in ruling.accused]


def test_a_verdict_that_is_allowed_hides_no_other() -> None:
    plan = Plan((), (), 0)
    assert accused(case("leak", "late"), "", plan, settings(allow=["leak"])) == ["late"]
    assert accused(case("leak", "late"), "", plan, settings(allow=["leak", "late"])) == []
    assert accused(case("leak"), "", plan, settings()) == ["leak"]


def test_a_verdict_of_the_matrix_hides_no_other() -> None:
    plan, given = Plan((), (), 0, source="m.toml", kind="matrix"), settings("matrix")
    assert accused(case("leak", "late"), "leak", plan, given) == ["late"]
    ruling = rule(case("leak"), Planned("case", "", word="leak"), plan, given, RECORDING, TODAY)
    assert (ruling.accused, ruling.expected) == ((), "leak, as in m.toml")
    ruling = rule(case(), Planned("case", "", word="leak"), plan, given, RECORDING, TODAY)
    assert ruling.stale == "clean now, but m.toml still has it as leak"


def test_what_the_gate_suppresses_is_expected_with_its_reason_until_it_expires() -> None:
    given, planned = settings("gate"), Planned("case", "")
    plan = of_gate(suppression("leak", TODAY))
    ruling = rule(case("leak"), planned, plan, given, RECORDING, TODAY)
    assert (ruling.accused, ruling.expected) == ((), "the pool waits (ops, until 2026-06-01)")
    tomorrow = TODAY + datetime.timedelta(days=1)
    ruling = rule(case("leak"), planned, plan, given, RECORDING, tomorrow)
    assert [root.verdict for root in ruling.accused] == ["leak"]
    assert "client-Client.steps.baseline.toml: suppressed until 2026-06-01 (ops)" in ruling.note
    assert accused(case("leak", "late"), "", plan, given) == ["late"]
    ruling = rule(case(), planned, plan, given, RECORDING, TODAY)
    assert ruling.stale.startswith("clean now, but ")
    assert ruling.stale.endswith(" still suppresses leak")
    assert accused(case("leak"), "", of_gate(), given) == ["leak"]


@pytest.mark.parametrize("baseline", ["matrix", "gate"])
def test_a_baseline_that_is_not_there_is_told(baseline: str, tmp_path: Path) -> None:
    (note,) = with_baseline(Plan((), (), 0), settings(baseline, matrices=tmp_path)).notes
    assert note.startswith(f"faultinject_baseline is {baseline}, but {tmp_path}")
    assert note.endswith(": no violation is expected")
    assert with_baseline(Plan((), (), 0), settings()).notes == ()
