"""The coordinator of data-parallel engines, on a real vLLM: it ends with the start that it was made for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine._forge import Forge

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("alone_with_shared_memory"),
]

pytest.importorskip("vllm", reason="needs an installed vLLM")

PROCESS = ["VLLM::DPCoordinator"]


@pytest.fixture
def both(forge: Forge) -> Any:
    """What a check sees of vLLM as it is, and of the hardened one."""
    return lambda check: [forge.run(f"{how}checks_coordinator.{check}") for how in ("", "hardened:")]


def test_it_ends_before_the_caller_hears_that_its_engines_cannot_be_started(both: Any) -> None:
    (said, alive, left), hardened = both("a_launcher_that_fails_after_its_coordinator")
    assert (said, alive) == ("planted", PROCESS)
    assert left
    assert hardened == ["planted", [], []]


def test_one_whose_start_is_interrupted_ends(both: Any) -> None:
    (said, alive, left), hardened = both("a_coordinator_that_is_given_up")
    assert (said, alive) == ("planted", PROCESS)
    assert left
    assert hardened == ["planted", [], []]


def test_the_files_of_its_sockets_go_with_its_shutdown(both: Any) -> None:
    (up, alive, left), hardened = both("a_coordinator_that_is_shut_down")
    assert (up, alive) == (PROCESS, [])
    assert left
    assert hardened == [PROCESS, [], []]


def test_two_engines_and_their_coordinator_generate_and_leave_nothing(forge: Forge) -> None:
    assert forge.run("hardened:checks_coordinator.two_engines") == [4, [], []]
