"""Each verdict on a tree of processes: a defect that gets it, and its repaired twin that does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultinject.errors import TargetError
from tests.trees._swept import Places, one_of, swept, write_target

CALLERS: Places = {"connecting": ("caller", "connect", "before")}

# flaws, fault, milestone, role that comes to it, verdict of the defect, and whom or what it names.
DEFECTS = {
    "a caller that is killed leaves workers that watch nothing": (
        ("no lifeline",), "SIGKILL@caller", "loading", "worker[0]", "leak", "worker[1]",
    ),
    "an engine terminated before it has a handler": (
        ("no lifeline", "no handler at first"), "SIGTERM@engine", "loading", "worker[0]", "hang", "worker[0]",
    ),
    "a pipe that a sibling keeps open": (
        ("one watches",), "SIGKILL@engine", "loading", "worker[1]", "hang", "worker[0]",
    ),
    "ranks that are waited for in order": (
        ("in order",), "SIGKILL@worker[1]", "loading", "worker[1]", "hang", "caller",
    ),
    "a second signal that ends the clean-up": (
        ("second signal", "no lifeline"), "SIGTERM@engine", "cleaning up", "engine", "leak", "worker[0]",
    ),
    "an error that only says that there was one": (
        ("hides the cause",), "SIGKILL@worker[1]", "loading", "worker[0]", "masked", "caller",
    ),
    "an error that does not say which": (
        ("hides the cause",), "RuntimeError@worker[1]", "loading", "worker[1]", "masked", "caller",
    ),
    "a segment whose name stays": (
        ("keeps the name",), "RuntimeError", "workers started", "engine", "leak", "caller",
    ),
    "a socket whose file stays": (
        ("keeps files",), "RuntimeError", "workers started", "engine", "leak", "caller",
    ),
    "shared memory written to without asking whether there is any": (
        ("trusts the size",), "nospace:/dev/shm", "connecting", "engine", "crash", "engine",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_seen(name: str, tmp_path: Path) -> None:
    flaws, fault, place, role, verdict, named = DEFECTS[name]
    result = one_of(swept(write_target(tmp_path, *flaws), fault, place), role)
    assert (result.verdict, result.violation) == (verdict, True), result.problems
    assert named in {problem.charged_to for problem in result.problems}


def test_the_repaired_twin_has_none_of_them(tmp_path: Path) -> None:
    wanted = {(fault, place, role) for _, fault, place, role, _, _ in DEFECTS.values()}
    faults = ",".join(sorted({fault for fault, _, _ in wanted}))
    collected = swept(write_target(tmp_path), faults, *sorted({place for _, place, _ in wanted}))
    found = {(r.fault, r.point.callee, r.point.caller): r.verdict for r in collected.results.values()}
    assert wanted <= set(found)
    # Others are told of it, or are done with what the system refuses them.
    assert {key: word for key, word in found.items() if word not in ("clean", "handled")} == {}
    assert {found[key] for key in wanted} == {"clean"}


def test_a_late_failure_leaves_a_child_that_the_interpreter_waits_for_at_its_exit(tmp_path: Path) -> None:
    bad = write_target(tmp_path, "no rollback", what="Late", places=CALLERS)
    result = one_of(swept(bad, "RuntimeError", "connecting"), "caller")
    assert result.verdict == "hang"
    assert {p.charged_to for p in result.problems} == {"caller", "engine"}
    good = write_target(tmp_path, what="Late", places=CALLERS)
    assert one_of(swept(good, "RuntimeError", "connecting"), "caller").verdict == "clean"


def test_a_parent_death_signal_kills_a_child_whose_starting_thread_has_ended(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"without any fault: Failed: Engine failed: exit status -9"):
        swept(write_target(tmp_path, "parent death signal"), "SIGKILL@engine", "loading")


def test_a_start_that_does_without_a_failed_process_has_handled_it(tmp_path: Path) -> None:
    places: Places = {"helping": ("engine", "load", "before")}
    result = one_of(
        swept(write_target(tmp_path, what="Optional", places=places), "RuntimeError", "helping"), "engine"
    )
    assert (result.verdict, result.violation) == ("handled", False)


def test_a_milestone_that_is_not_reached_again_is_no_pass(tmp_path: Path) -> None:
    marker = {"TEST_TREE_MARKER": str(tmp_path / "marker")}
    target = write_target(tmp_path, what="Once", places=CALLERS, environment=marker)
    result = one_of(swept(target, "RuntimeError", "connecting"), "caller")
    assert (result.verdict, result.violation) == ("not-reached", False)


def test_what_is_said_of_a_survivor(tmp_path: Path) -> None:
    result = one_of(
        swept(write_target(tmp_path, "no lifeline", "keeps the name"), "SIGKILL@caller", "loading"),
        "worker[1]",
    )
    engine = next(p.what for p in result.problems if p.charged_to == "engine")
    assert "state S" in engine
    assert "/dev/shm/ring-" in engine
    assert "tcp port" in engine
    assert any("1 MiB of shared memory stay" in p.what for p in result.problems)


def test_spawned_processes_are_reached_as_forked_ones_are(tmp_path: Path) -> None:
    good = swept(
        write_target(tmp_path, method="spawn"), "SIGKILL@caller,RuntimeError", "loading", deadline=5.0
    )
    assert [r.verdict for r in good.results.values()] == ["clean"] * 4
    bad = write_target(tmp_path, "hides the cause", "no lifeline", method="spawn")
    results = swept(bad, "SIGKILL@caller,RuntimeError@worker[0]", "loading", "ready").results.values()
    found = {(r.point.callee, r.fault): r.verdict for r in results}
    assert found["ready", "SIGKILL@caller"] == "leak"
    assert found["loading", "RuntimeError@worker[0]"] == "masked"


def test_a_fresh_interpreter_for_the_caller_says_the_same(tmp_path: Path) -> None:
    bad = write_target(tmp_path, "no lifeline")
    result = one_of(swept(bad, "SIGKILL@caller", "loading", runner="spawn"), "worker[0]")
    assert (result.verdict, result.runner) == ("leak", "spawn")
    good = write_target(tmp_path)
    assert one_of(swept(good, "SIGKILL@caller", "loading", runner="spawn"), "worker[0]").verdict == "clean"
