"""Defects that were reported of vLLM: each is seen on the installed one, and not on the hardened one.

docs/public-cases.md says which report is which test, and of which reports vLLM itself has ended the cause.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine._forge import ROOT, Forge
from tests.engine.checks_background import left_after, segments
from tests.engine.checks_workers import SOCKET

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("alone_with_shared_memory"),
]

pytest.importorskip("vllm", reason="needs an installed vLLM")


@pytest.fixture
def both(forge: Forge) -> Any:
    """What a check sees of vLLM as it is, and of the hardened one."""
    return lambda check: [forge.run(f"{how}checks_public.{check}") for how in ("", "hardened:")]


def sockets(names: list[str]) -> list[str]:
    return [name for name in names if SOCKET.fullmatch(name)]


# ---- whoever dies ----


@pytest.mark.parametrize(
    "check", ["a_caller_that_is_killed_while_workers_load", "a_host_that_leaves_at_once"]
)
def test_engine_and_workers_end_with_their_caller_while_they_load(both: Any, check: str) -> None:
    (_, alive, left, _), hardened = both(check)
    assert {"VLLM::EngineCore", "VLLM::Worker_TP0", "VLLM::Worker_TP1"} <= set(alive)
    assert left
    assert hardened[1:] == [[], [], ""]


def test_workers_in_a_call_end_with_their_engine(both: Any) -> None:
    (status, alive, left, _), hardened = both("an_engine_that_is_killed_while_workers_are_in_a_call")
    assert status == -1
    assert {"VLLM::Worker_TP0", "VLLM::Worker_TP1"} <= set(alive)
    assert left
    assert hardened[:3] == [7, [], []]


def test_an_engine_that_is_terminated_early_takes_its_workers_along(both: Any) -> None:
    (status, alive, *_), hardened = both("an_engine_that_is_terminated_while_its_workers_start")
    assert status == -1
    assert "VLLM::EngineCore" in alive
    assert hardened[:3] == [7, [], []]
    assert hardened[3].endswith("was ended by SIGTERM before it was ready")


def test_a_second_termination_does_not_cut_the_clean_up_short(both: Any) -> None:
    (_, left), hardened = both("an_engine_that_is_terminated_twice")
    assert left
    assert hardened == [[], []]


def test_the_error_says_which_signal_an_engine_died_of(both: Any) -> None:
    (*_, said), hardened = both("an_engine_that_is_killed_while_it_starts")
    # Which process it was and its status are there if the status could be read in time.
    assert re.search(r"See root cause above\. Failed core proc\(s\): \{.*\}$", said)
    assert re.fullmatch(
        r"StartupError: .*: engine \(pid \d+\) was ended by SIGKILL before it was ready", hardened[3]
    )


def test_a_warm_up_that_outlasts_the_ready_timeout_is_ended_and_named(both: Any) -> None:
    (status, alive, *_), hardened = both("a_warm_up_that_outlasts_the_ready_timeout")
    assert status == -1
    assert {"VLLM::EngineCore", "VLLM::Worker_TP0", "VLLM::Worker_TP1"} <= set(alive)
    assert hardened[:3] == [7, [], []]
    assert re.search(r": (engine|worker\[\d\]) \(pid \d+\) was not ready within 12 s", hardened[3])


def test_an_engine_that_is_stopped_at_the_last_step_of_a_server_is_named(both: Any) -> None:
    said, hardened = both("a_server_whose_engine_is_stopped_at_the_last_step")
    assert said == "TimeoutError: "
    assert re.match(
        r"StartupError: .*: engine \(pid \d+\) is stopped, and the engine was not ready", hardened
    )


# ---- whatever fails ----


@pytest.mark.parametrize("check", ["a_scheduler_that_fails", "an_input_thread_that_cannot_be_had"])
def test_what_fails_after_the_executor_is_told_and_leaves_nothing(both: Any, check: str) -> None:
    (kind, said, _, left), hardened = both(check)
    assert (kind, "planted" in said) == ("RuntimeError", False)
    assert "See root cause above" in said
    assert sockets(left)
    assert (hardened[0], hardened[2:]) == ("StartupError", [[], []])
    told = r"the engine did not start: engine \(pid \d+\) failed: ZeroDivisionError: planted\n"
    assert re.match(told, hardened[1])


def test_what_a_worker_fails_of_reaches_the_caller(both: Any) -> None:
    (_, said, _, left), hardened = both("a_worker_that_fails_to_load_its_model")
    assert "planted" not in said
    assert sockets(left)
    assert (hardened[0], hardened[2:]) == ("StartupError", [[], []])
    assert re.match(r".*: worker\[\d\] \(pid \d+\) failed: ZeroDivisionError: planted\n", hardened[1])


@pytest.mark.parametrize(
    "check", ["an_executor_that_fails_before_it_has_workers", "an_entry_point_whose_engine_fails"]
)
def test_no_finalizer_and_no_shutdown_puts_an_error_over_the_first(both: Any, check: str) -> None:
    """Ended in vLLM before 0.28."""
    assert both(check) == [["ZeroDivisionError", "planted", "None", []]] * 2


def test_a_second_start_in_the_same_process_works(both: Any) -> None:
    """In vLLM too, by now; beside what the first has left."""
    assert both("a_second_start_after_one_that_failed") == [16, 16]


def test_the_heap_is_not_frozen_when_the_front_end_has_failed(both: Any) -> None:
    (_, frozen), hardened = both("a_heap_that_is_frozen_when_the_front_end_fails")
    assert frozen > 0
    assert hardened == ["planted", 0]


# ---- shared memory, sockets and ports ----


def test_memory_that_cannot_be_mapped_leaves_no_name_and_no_descriptor(both: Any) -> None:
    (descriptors, names, *_), hardened = both("memory_that_cannot_be_mapped_when_it_is_made")
    assert descriptors > 0
    assert names == 1
    assert hardened == [0, 0, [], 0, 0, []]


def test_a_reader_that_cannot_map_memory_leaves_it_to_its_owner(both: Any) -> None:
    assert both("memory_that_cannot_be_mapped_by_a_reader") == [False, True]


def test_a_port_that_was_found_is_nobody_elses_until_it_is_bound(both: Any) -> None:
    assert both("a_port_that_somebody_takes_before_it_is_bound") == [[True, False], [False, True]]


def test_two_engines_have_stores_of_different_names(both: Any) -> None:
    """Ended in vLLM before 0.28."""
    assert both("the_name_of_the_store_of_two_engines") == [True, True]


# ---- to the end of the program ----


@pytest.fixture
def directory() -> Iterator[Path]:
    """For temporary files, by a name that is short enough for sockets."""
    made = Path(tempfile.mkdtemp(prefix="vllm-"))
    yield made
    shutil.rmtree(made)


def ended(how: str, which: str, directory: Path) -> tuple[int, str, list[str]]:
    """Exit status and errors of a program, and names of sockets that it has left."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine._program", how, which],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(directory)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stderr, sockets([path.name for path in directory.iterdir()])


def test_a_program_that_ends_well_leaves_no_sockets(directory: Path) -> None:
    status, said, left = ended("upstream", "good", directory)
    assert (status, bool(left)) == (0, True), said
    for name in left:
        (directory / name).unlink()
    before = segments()
    status, said, left = ended("hardened", "good", directory)
    assert (status, left, left_after(before, 5.0)) == (0, [], []), said
    assert "leaked" not in said


def test_one_whose_engine_fails_ends_as_failed_and_nobody_warns_of_leaks(directory: Path) -> None:
    status, said, left = ended("upstream", "bad", directory)
    assert (status, bool(left)) == (1, True), said
    assert "leaked shared_memory objects" in said
    for name in left:
        (directory / name).unlink()
    before = segments()
    status, said, left = ended("hardened", "bad", directory)
    assert (status, left, left_after(before, 5.0)) == (1, [], []), said
    assert "leaked" not in said
    assert "failed: ValueError: " in said
