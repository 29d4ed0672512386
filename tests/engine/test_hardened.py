"""The hardened engine core on a real vLLM: what a failed construction leaves, and in which order it goes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine._forge import Forge

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

pytest.importorskip("vllm", reason="needs an installed vLLM")

CLEAR, SHUTDOWN, SCHEDULER = (
    "StructuredOutputManager.clear_backend",
    "UniProcExecutor.shutdown",
    "Scheduler.shutdown",
)


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("a_failed_construction_leaves_nothing_while_its_exception_is_held", [[True, True]] * 6),
        ("the_next_construction_generates_what_upstream_does", True),
        ("releases_come_in_the_order_of_the_normal_shutdown", [[CLEAR, SHUTDOWN, SCHEDULER]] * 2),
        (
            "only_what_was_acquired_is_released",
            [[SHUTDOWN], [CLEAR, SHUTDOWN, SCHEDULER]],
        ),
        ("a_scheduler_that_raises_is_not_shut_down", [CLEAR, SHUTDOWN]),
        ("a_failing_release_neither_stops_the_others_nor_replaces_the_first", [[True] * 4] * 6),
        ("a_release_that_hangs_is_given_up", [True, True, True]),
        ("what_the_caller_had_frozen_stays_frozen", [True, True, True]),
        ("the_callers_own_process_group_lives_on", [True, True, True]),
        ("an_engine_that_stands_is_not_touched_by_one_that_fails", [True, True]),
        ("an_executor_that_fails_half_way_gives_back_what_it_set_up", [[True, True, True]] * 3),
        ("the_process_is_as_it_was", [True] * 5),
        ("in_another_thread_it_is_the_same", ["there", True]),
        ("a_signal_during_the_rollback_is_held", [True, "then the interrupt", True]),
        ("the_traceback_is_that_of_the_failure", ["construct", "construct", "__init__", "__init__", "fail"]),
        ("a_normal_shutdown_is_what_it_was", [True, True, True]),
        ("hardening_is_idempotent_and_comes_off", [True, 1, True, True, True, True, True, True]),
        ("what_somebody_put_over_it_is_left", [False, True]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_hardened(forge: Forge, check: str, expected: Any) -> None:
    assert forge.run(check) == expected


def test_an_unknown_vllm_is_left_as_it_is(forge: Forge) -> None:
    first, untouched, missed, second, still, lacking, third = forge.run("an_unknown_vllm_is_left_as_it_is")
    assert (first, second, third) == (False, False, True)
    assert untouched
    assert still
    assert missed[0].startswith("vllm.v1.engine.core:EngineCore.__init__(self, vllm_config, executor_class")
    assert lacking == ["StructuredOutputManager.clear_backend"]


def test_upstream_leaves_what_the_hardened_one_gives_back(forge: Forge) -> None:
    left = forge.run("upstream_leaves_what_the_hardened_one_gives_back")
    assert left["fds"] >= 40
    assert left["threads"] >= 30
    assert left["frozen"] > 100_000
