"""SIGSTOP, and then SIGCONT or never."""

from __future__ import annotations

from pathlib import Path

from tests.trees._swept import one_of, swept, write_target


def test_a_worker_that_is_stopped_for_ever_and_never_missed_is_a_hang(tmp_path: Path) -> None:
    result = one_of(swept(write_target(tmp_path), "SIGSTOP@worker[0]", "loading"), "worker[1]")
    assert result.verdict == "hang"
    stopped = next(p.what for p in result.problems if p.charged_to == "worker[0]")
    assert "state T" in stopped


def test_a_worker_that_goes_on_in_time_is_no_fault(tmp_path: Path) -> None:
    result = one_of(swept(write_target(tmp_path), "SIGSTOP@worker[0]+0.2s", "loading"), "worker[1]")
    assert result.verdict == "handled"


def test_a_worker_may_go_on_when_another_comes_to_a_milestone(tmp_path: Path) -> None:
    fault = "SIGSTOP@worker[0]+worker[1]/loading"
    result = one_of(swept(write_target(tmp_path), fault, "process up"), "worker[1]")
    assert result.verdict == "handled"
