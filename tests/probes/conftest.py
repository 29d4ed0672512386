"""Looking with a probe: at once, until something settles, and from a forked copy of the process."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from faultinject.facts import Item
from faultinject.probes import Probe


@pytest.fixture
def until() -> Callable[[Callable[[], Any]], Any]:
    """Calls a function until its answer is true, and returns that; what never comes fails the test."""

    def wait(answer: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + 60
        while not (found := answer()):
            assert time.monotonic() < deadline, "it never came"
            time.sleep(0.001)
        return found

    return wait


@pytest.fixture
def new() -> Callable[[Probe, Mapping[str, Item]], dict[str, Item]]:
    """What a probe sees that it did not see before."""

    def look(probe: Probe, before: Mapping[str, Item]) -> dict[str, Item]:
        return {key: item for key, item in probe.snapshot().items() if key not in before}

    return look


@pytest.fixture
def in_fork() -> Callable[[Callable[[], Any]], Any]:
    """Runs a function in a forked copy of this process and returns what it returned, by way of JSON."""

    def run(function: Callable[[], Any]) -> Any:
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                text = json.dumps(function())
                os.write(writing, text.encode())
            except BaseException as error:
                os.write(writing, json.dumps({"failed": repr(error)}).encode())
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            answer = json.loads(pipe.read())
        os.waitpid(pid, 0)
        if isinstance(answer, dict) and "failed" in answer:
            raise AssertionError(f"in the fork: {answer['failed']}")
        return answer

    return run
