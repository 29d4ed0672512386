"""What the system refuses a process, from a milestone on."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.trees._swept import one_of, swept, write_target

WHERE_THEY_BITE = {
    "nofile": "engine",
    "nofork": "engine",
    "portinuse:any": "engine",
    "nospace:/dev/shm": "engine",
    "nomemory:16": "worker[1]",
}


@pytest.mark.parametrize("fault", WHERE_THEY_BITE)
def test_a_start_that_says_what_the_system_said_is_clean_and_one_that_hides_it_is_masked(
    fault: str, tmp_path: Path
) -> None:
    role = WHERE_THEY_BITE[fault]
    place = "connecting" if role == "engine" else "loading"
    good = one_of(swept(write_target(tmp_path), f"{fault}@{role}", place), role)
    assert good.verdict == "clean", good.problems
    assert good.exception  # it did fail
    bad = one_of(swept(write_target(tmp_path, "hides the cause"), f"{fault}@{role}", place), role)
    assert bad.verdict == "masked"


def test_without_a_mount_namespace_the_calls_that_take_room_fail(tmp_path: Path) -> None:
    good = one_of(swept(write_target(tmp_path), "nospace@engine", "connecting", private=False), "engine")
    assert good.verdict == "clean"
    assert "No space left on device" in good.exception


def test_a_port_is_taken_before_the_start(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    target = write_target(tmp_path, environment={"TEST_TREE_PORT": str(port)})
    result = one_of(swept(target, f"portinuse:{port}@engine", "connecting"), "engine")
    assert result.verdict == "clean"
    assert "Address already in use" in result.exception
