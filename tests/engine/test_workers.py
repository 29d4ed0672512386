"""The hardened executor with two worker processes, on a real vLLM."""

from __future__ import annotations

import pytest

from tests.engine._forge import Forge

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("alone_with_shared_memory"),
]

pytest.importorskip("vllm", reason="needs an installed vLLM")


def test_an_executor_that_fails_at_its_end_gives_back_workers_memory_sockets_and_pipes(forge: Forge) -> None:
    kind, said, more = forge.run("hardened:checks_workers.an_executor_that_fails_at_its_end")
    assert (kind, said) == ("ZeroDivisionError", "planted")
    assert more == []


def test_upstream_leaves_sockets_and_descriptors_there(forge: Forge) -> None:
    kind, said, more = forge.run("checks_workers.an_executor_that_fails_at_its_end")
    assert (kind, said) == ("ZeroDivisionError", "planted")
    # And the memory, until the thread that watches the workers has ended: that may be before one looks.
    assert {"fds", "sockets"} <= set(more)


def test_the_error_tells_which_worker_failed_and_why(forge: Forge) -> None:
    kind, said, more = forge.run("hardened:checks_workers.a_worker_that_fails_to_load_its_model")
    assert kind == "StartupError"
    first, *_ = said.splitlines()
    assert first.startswith("the engine did not start: worker[")
    assert first.endswith("failed: ZeroDivisionError: planted")
    assert "in load_model" in said or "worker.load_model()" in said
    assert more == []


def test_upstream_tells_to_look_for_the_cause_elsewhere(forge: Forge) -> None:
    kind, said, more = forge.run("checks_workers.a_worker_that_fails_to_load_its_model")
    assert kind == "Exception"
    assert "planted" not in said
    assert "memory" in more


def test_the_error_tells_which_worker_was_killed_and_by_what(forge: Forge) -> None:
    kind, said, more = forge.run("hardened:checks_workers.a_worker_that_is_killed")
    assert kind == "StartupError"
    assert "worker[" in said
    assert said.endswith("was ended by SIGKILL before it was ready")
    assert more == []


def test_a_worker_that_cannot_be_started_leaves_no_pipe(forge: Forge) -> None:
    kind, said, more = forge.run("hardened:checks_workers.a_worker_that_cannot_be_started")
    assert (kind, said) == ("BlockingIOError", "[Errno 11] planted")
    assert more == []


def test_a_second_worker_that_cannot_be_started_takes_the_first_along(forge: Forge) -> None:
    kind, said, more = forge.run("hardened:checks_workers.a_second_worker_that_cannot_be_started")
    assert (kind, said) == ("BlockingIOError", "[Errno 11] planted")
    assert more == []


def test_upstream_leaves_its_memory_and_descriptors_then(forge: Forge) -> None:
    kind, said, more = forge.run("checks_workers.a_second_worker_that_cannot_be_started")
    assert (kind, said) == ("BlockingIOError", "[Errno 11] planted")
    assert {"fds", "memory"} <= set(more)


def test_a_normal_shutdown_by_three_threads_runs_once_and_leaves_nothing(forge: Forge) -> None:
    running, answers, more = forge.run("hardened:checks_workers.a_normal_shutdown")
    assert running >= 2
    assert answers == [None, None]
    assert more == []


def test_a_queue_keeps_its_sockets_until_whoever_reads_from_it_has_left(forge: Forge) -> None:
    seen, without_lock = forge.run("hardened:checks_workers.a_queue_that_is_given_back_beside_its_reader")
    assert seen == ["False", "cancelled"]
    assert without_lock == ["BufferError", "True", "cancelled"]


def test_the_monitor_does_not_wait_for_the_shutdown_that_waits_for_it(forge: Forge) -> None:
    assert not forge.run("hardened:checks_workers.a_monitor_that_shuts_down_beside_another_thread")
