"""The hardened engine in a process of its own, with two workers, on a real vLLM: whoever fails or dies."""

from __future__ import annotations

import re

import pytest

from tests.engine._forge import Forge

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("alone_with_shared_memory"),
]

pytest.importorskip("vllm", reason="needs an installed vLLM")


def test_a_caller_that_is_killed_takes_engine_workers_and_their_memory_along(forge: Forge) -> None:
    status, alive, left, _ = forge.run("hardened:checks_background.a_caller_that_is_killed")
    assert (status, alive, left) == (-9, [], [])


def test_upstreams_engine_and_workers_outlive_a_caller_that_is_killed(forge: Forge) -> None:
    status, alive, left, _ = forge.run("checks_background.a_caller_that_is_killed")
    assert status == -9
    assert {"VLLM::EngineCor", "VLLM::Worker_TP"} <= {name[:15] for name in alive}
    assert left


def test_ctrl_c_ends_a_start_with_all_that_belongs_to_it(forge: Forge) -> None:
    status, alive, left, said = forge.run("hardened:checks_background.ctrl_c")
    assert (status, alive, left) == (7, [], [])
    assert said.startswith("KeyboardInterrupt")


def test_an_engine_that_is_terminated_while_it_starts_ends_and_is_named(forge: Forge) -> None:
    status, alive, left, said = forge.run("hardened:checks_background.an_engine_that_is_terminated")
    assert (status, alive, left) == (7, [], [])
    assert said.startswith("StartupError: the engine did not start: engine (pid ")
    assert said.endswith("was ended by SIGTERM before it was ready")


def test_an_engine_that_is_terminated_as_it_starts_a_worker_hears_of_it(forge: Forge) -> None:
    kind, said, alive, left = forge.run(
        "hardened:checks_background.an_engine_that_is_terminated_as_it_starts_a_worker"
    )
    assert kind == "StartupError"
    assert re.search(r"engine \(pid \d+\) was ended by SIGTERM before it was ready$", said)
    assert (alive, left) == ([], [])


def test_a_worker_that_dies_ends_an_engine_that_is_busy_with_something_else(forge: Forge) -> None:
    status, alive, left, said = forge.run(
        "hardened:checks_background.a_worker_that_dies_while_the_engine_is_busy"
    )
    assert (status, alive, left) == (7, [], [])
    assert said.startswith("StartupError: the engine did not start: worker[1] (pid ")
    assert said.endswith("was ended by SIGKILL")


def test_upstreams_engine_goes_on_for_a_dead_worker(forge: Forge) -> None:
    check = "checks_background.a_worker_that_dies_while_the_engine_is_busy"
    status, alive, _, said = forge.run(check)
    assert (status, said) == (-1, "")
    assert alive


def test_a_worker_that_is_stopped_is_named_when_the_ready_timeout_is_over(forge: Forge) -> None:
    status, alive, left, said = forge.run("hardened:checks_background.a_worker_that_is_stopped")
    assert (status, alive, left) == (7, [], [])
    assert said.startswith("StartupError: the engine did not start: worker[1] (pid ")
    assert said.endswith("is stopped, and the engine was not ready within 12 s (VLLM_ENGINE_READY_TIMEOUT_S)")


def test_upstream_waits_on_for_a_worker_that_is_stopped(forge: Forge) -> None:
    status, alive, _, said = forge.run("checks_background.a_worker_that_is_stopped")
    assert (status, said) == (-1, "")
    assert alive


def test_an_answer_of_an_engine_that_dies_is_not_waited_for(forge: Forge) -> None:
    kind, said, alive = forge.run("hardened:checks_background.an_engine_that_dies_and_is_asked_something")
    assert kind == "EngineDeadError"
    assert said.startswith("The engine has ended: engine (pid ")
    assert said.endswith("was ended by SIGKILL")
    assert alive == []


def test_upstream_waits_for_the_answer_of_a_dead_engine(forge: Forge) -> None:
    check = "checks_background.an_engine_that_dies_and_is_asked_something"
    assert forge.run(check)[:2] == ["waits", ""]


def test_of_an_engine_that_somebody_else_ends_in_order_the_caller_hears_how(forge: Forge) -> None:
    kind, said = forge.run("hardened:checks_background.an_engine_that_somebody_else_asks_to_end")
    assert kind == "EngineDeadError"
    assert re.fullmatch(r"The engine has ended: engine \(pid \d+\) was ended by SIGTERM", said)


def test_upstreams_caller_hears_nothing_of_it(forge: Forge) -> None:
    kind, said = forge.run("checks_background.an_engine_that_somebody_else_asks_to_end")
    assert (kind, said) == ("EngineDeadError", "")


def test_what_fails_after_the_engine_is_up_ends_it_before_the_caller_hears(forge: Forge) -> None:
    check = "hardened:checks_background.a_caller_that_fails_after_its_engine_is_up"
    assert forge.run(check) == ["planted", [], []]


def test_upstreams_engine_lives_on_while_the_exception_is_held(forge: Forge) -> None:
    said, alive, left = forge.run("checks_background.a_caller_that_fails_after_its_engine_is_up")
    assert said == "planted"
    assert alive
    assert left


def test_a_spawned_engine_tells_what_went_wrong_in_it(forge: Forge) -> None:
    kind, said, alive, left = forge.run(
        "hardened:checks_background.a_spawned_engine_without_room_for_its_cache"
    )
    assert kind == "StartupError"
    first, *_ = said.splitlines()
    assert first.startswith("the engine did not start: engine (pid ")
    assert "failed: ValueError: No available memory for the cache blocks" in first
    assert (alive, left) == ([], [])


def test_a_good_start_generates_and_its_shutdown_leaves_nothing(forge: Forge) -> None:
    tokens, alive, left, threads = forge.run("hardened:checks_background.a_good_start")
    assert tokens > 0
    assert (alive, left, threads) == ([], [], 0)
