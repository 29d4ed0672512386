"""Whose fault it is, where a target's own code is more than one frame."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultinject.facts import CaseResult
from faultinject.sweep import Options, Sweep
from faultinject.targets import TargetSpec
from tests.corpus import own_frames
from tests.corpus._base import Base
from tests.sweep._collected import Collected

ROOT = Path(__file__).resolve().parents[2]
ME = own_frames.__name__
BASE = f"{Base.__module__}:Base.__init__"
RUNNERS = ("zygote", "fork")


def sweep(target: str, *own: str, **options: object) -> Collected:
    collected = Collected()
    chosen = {"faults": ("RuntimeError",), "runner": "zygote", "jobs": 1, "repeats": 1, **options}
    spec = TargetSpec(f"{ME}:{target}", "close", str(ROOT), own)
    Sweep(Options(target=spec, **chosen), collected).run()  # type: ignore[arg-type]
    return collected


def said(collected: Collected) -> dict[tuple[str, str], tuple[str, str, bool]]:
    """(callee, phase) -> verdict, whom it is charged to, whether it is a violation."""
    return {(short(r), r.phase): (r.verdict, r.charged_to, r.violation) for r in collected.results.values()}


def short(result: CaseResult) -> str:
    name = result.point.callee.rpartition(":")[2]
    return f"{name}#{result.point.occurrence}" if result.point.occurrence > 1 else name


@pytest.mark.parametrize("runner", RUNNERS)
def test_each_own_frame_answers_for_what_it_had_received(runner: str) -> None:
    found = said(sweep("Forgets", BASE, runner=runner))
    target = f"{ME}:Forgets.__init__"
    base, channel = BASE, "tests.corpus._parts:Channel.__init__"
    assert found == {
        ("Base.__init__", "before"): ("clean", "", False),
        ("Channel.__init__", "before"): ("clean", "", False),
        ("Channel.__init__", "after"): ("leak", channel, False),
        ("Channel.__init__#2", "before"): ("leak", base, True),
        ("Channel.__init__#2", "after"): ("leak", base, True),
        ("configure", "before"): ("leak", base, True),
        ("configure", "after"): ("leak", base, True),
        ("Base.__init__", "after"): ("leak", base, True),
        ("measure", "before"): ("leak", target, True),
        ("measure", "after"): ("leak", target, True),
    }


def test_what_a_helper_forgets_is_its_layers_own_affair_until_it_is_named() -> None:
    helper = f"{ME}:HelperForgets._weigh"
    plain = said(sweep("HelperForgets"))
    assert plain[("HelperForgets._weigh", "after")] == ("clean", "", False)
    assert ("measure", "before") not in plain
    named = said(sweep("HelperForgets", helper))
    assert named[("measure", "before")] == named[("measure", "after")] == ("leak", helper, True)
    # Finer levels come there in any case: only the charge differs.
    for own, violation in (((), False), ((helper,), True)):
        found = said(sweep("HelperForgets", *own, level="sites"))
        assert found[("measure", "before")] == ("leak", helper, violation)


@pytest.mark.parametrize("runner", RUNNERS)
def test_what_a_helper_swallows_or_replaces_is_the_targets_doing(runner: str) -> None:
    helper = f"{ME}:Helper*._weigh"
    half = sweep("HelperHalfBuilds", helper, runner=runner)
    assert said(half)[("measure", "before")] == ("handled", f"{ME}:HelperHalfBuilds._weigh", True)
    hidden = sweep("HelperHides", helper, runner=runner)
    assert said(hidden)[("measure", "after")] == ("masked", f"{ME}:HelperHides._weigh", True)


def test_the_object_that_an_own_frame_handed_on_is_known_by_name_holder_release_and_order() -> None:
    recording = sweep("KeepsAndReleases", f"{ME}:Keeper.*").recording
    assert [(o.name, o.callee, o.release, o.holder, o.order, o.amounts) for o in recording.owned] == [
        ("first", f"{ME}:Sized.__init__", "close", "self.first", 2, ("+2 fds",)),
        ("second", f"{ME}:Sized.__init__", "close", "self.second", 1, ("+2 fds",)),
    ]
    assert recording.frame == f"{ME}:KeepsAndReleases.__init__"


def test_the_frame_that_keeps_a_thing_answers_for_it_until_it_has_handed_it_on() -> None:
    found = said(sweep("KeepsAndForgets", f"{ME}:Keeper.*"))
    keeper, target = f"{ME}:Keeper.acquire", f"{ME}:KeepsAndForgets.__init__"
    assert found[("Sized.__init__", "after")][1:] == (f"{ME}:Sized.__init__", False)
    assert found[("list.extend", "after")] == ("leak", keeper, True)
    assert found[("Keeper.acquire", "after")] == ("leak", keeper, True)
    assert found[("configure", "before")] == ("leak", target, True)


@pytest.mark.parametrize("target", ["KeepsAndReleases", "KeepsAndForgets"])
def test_at_every_instruction_of_every_own_frame(target: str) -> None:
    found = sweep(target, f"{ME}:Keeper.*", level="opcodes", runner="fork", confirm="none")
    callers = {r.point.caller.rpartition(":")[2] for r in found.results.values()}
    assert callers == {f"{target}.__init__", "Keeper.__init__", "Keeper.acquire"}
    accused = [r for r in found.results.values() if r.violation]
    if target == "KeepsAndForgets":
        charged = {r.charged_to.rpartition(":")[2] for r in accused}
        assert charged == {"KeepsAndForgets.__init__", "Keeper.acquire"}
    else:
        # What returns from the outermost frame lies behind its last handler.
        assert {r.point.callee for r in accused} <= {"LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}
        assert {r.charged_to.rpartition(":")[2] for r in accused} == {"KeepsAndReleases.__init__"}


def test_patched_callables_have_own_frames_too() -> None:
    options = {"backend": "patching", "attributes": (f"{ME}:measure", "tests.corpus._base:configure")}
    found = said(sweep("Forgets", BASE, **options))
    assert found[("configure", "before")] == ("leak", BASE, True)
    assert found[("measure", "before")] == ("leak", f"{ME}:Forgets.__init__", True)
