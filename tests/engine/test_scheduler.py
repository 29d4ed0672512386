"""A scheduler that fails after it has started what it talks by, on a real vLLM."""

from __future__ import annotations

import pytest

from tests.engine._forge import Forge

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

pytest.importorskip("vllm", reason="needs an installed vLLM")


def test_the_publisher_of_events_goes_before_the_caller_hears(forge: Forge) -> None:
    assert forge.run("hardened:checks_scheduler.a_scheduler_that_fails_after_its_publisher") == [
        "planted",
        [],
        0,
    ]


def test_upstreams_publisher_stays(forge: Forge) -> None:
    check = "checks_scheduler.a_scheduler_that_fails_after_its_publisher"
    said, threads, descriptors = forge.run(check)
    assert said == "planted"
    assert "zmq-publisher" in threads
    assert descriptors > 0


def test_they_go_in_the_order_of_the_normal_shutdown(forge: Forge) -> None:
    check = "hardened:checks_scheduler.the_order_in_which_connectors_and_publisher_go"
    assert forge.run(check) == ["publisher", "KV connector", "EC connector"]
