"""The patching backend, end to end: record, screen, cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultinject.errors import UsageError
from faultinject.facts import Level
from faultinject.reports import Kept
from faultinject.sweep import Options, Sweep
from faultinject.sweep._options import Runner
from faultinject.targets import TargetSpec

ROOT = Path(__file__).resolve().parents[2]
ME = "tests.backends._patched"


Row = tuple[str, str, int, str, str, bool]


def sweep(target: str, *patched: str, level: Level = "steps", runner: Runner = "zygote") -> set[Row]:
    """(caller, callee, occurrence, phase, verdict, charged to the target) of each case."""
    kept = Kept()
    Sweep(
        Options(
            target=TargetSpec(f"{ME}:{target}", "close", str(ROOT)), level=level, faults=("RuntimeError",),
            runner=runner, confirm="none", jobs=1, repeats=1, backend="patching", attributes=patched,
            probes=("fds",),
        ),
        kept,
    ).run()  # fmt: skip
    return {
        (p.caller.partition(":")[2], p.callee, p.occurrence, p.phase, r.verdict, r.violation)
        for r in kept.results.values()
        for p in (r.point,)
    }


@pytest.mark.parametrize("runner", ["zygote", "fork"])
def test_steps_are_the_calls_the_target_makes_itself(runner: Runner) -> None:
    assert sweep("Forgets", "os:open", f"{ME}:function", runner=runner) == {
        ("Forgets.__init__", "posix:open", 1, "before", "clean", False),
        ("Forgets.__init__", "posix:open", 1, "after", "leak", False),
        ("Forgets.__init__", f"{ME}:function", 1, "before", "leak", True),
        ("Forgets.__init__", f"{ME}:function", 1, "after", "leak", True),
    }


@pytest.mark.parametrize("level", ["sites", "nth", "stacks"])
def test_beneath_the_target_too_at_finer_levels(level: Level) -> None:
    seen = sweep("Forgets", "os:open", f"{ME}:function", level=level, runner="fork")
    assert {row[:4] for row in seen} == {
        (caller, callee, occurrence, phase)
        for phase in ("before", "after")
        for caller, callee, occurrence in (
            ("Forgets.__init__", "posix:open", 1),
            ("Forgets.__init__", f"{ME}:function", 1),
            ("Forgets.opens_two", "posix:open", 1),
            ("Forgets.opens_two", "posix:open", 2),
            ("Forgets.opens_two", f"{ME}:function", 1),
        )
    }
    assert ("Forgets.opens_two", "posix:open", 1, "before", "leak", True) in seen
    assert ("Forgets.__init__", "posix:open", 1, "before", "clean", False) in seen


def test_what_gives_everything_back_is_clean_but_for_the_callee_that_kept_its_own() -> None:
    rows = sweep("GivesBack", "os:open", f"{ME}:function", level="sites")
    for _, callee, _, phase, verdict, violation in rows:
        lost_by_callee = callee == "posix:open" and phase == "after"
        assert (verdict, violation) == ("leak" if lost_by_callee else "clean", False)


def test_a_name_that_is_bound_early_is_told_of() -> None:
    with pytest.raises(UsageError, match="--patch os:getpid: never called through that name"):
        sweep("CallsEarlyBound", "os:getpid")
    assert {row[1] for row in sweep("CallsEarlyBound", f"{ME}:early_bound")} == {"posix:getpid"}


def test_without_a_name_there_is_nothing_to_sweep() -> None:
    with pytest.raises(UsageError, match="none is named: give --patch module:qualname"):
        sweep("Forgets")
