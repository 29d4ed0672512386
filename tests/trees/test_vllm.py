"""vLLM's own processes, forked: a start takes seconds."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from faultinject.targets import TargetSpec
from tests.trees._swept import swept

pytestmark = [
    pytest.mark.engine,
    pytest.mark.usefixtures("alone_with_shared_memory"),
    pytest.mark.timeout(900),
    pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed"),
]


def test_each_process_is_reached_and_what_upstream_leaves_is_seen(tmp_path: Path) -> None:
    spec = TargetSpec("vllm:LLM-tp2", directory=str(tmp_path))
    collected = swept(spec, "SIGKILL@caller,RuntimeError@engine", "scheduler", deadline=5.0)
    points = {(p.caller, p.callee) for p in collected.recording.points}
    assert points == {("engine", "scheduler")}
    steps = {(step.caller, step.callee) for step in collected.recording.steps}
    assert {
        ("caller", "processes started"), ("caller", "ready"), ("engine", "handshake"),
        ("engine", "executor acquired"), ("engine", "KV caches"), ("engine", "GC freeze"),
        ("engine", "threads started"), ("engine", "ready"), ("worker[0]", "device"),
        ("worker[1]", "model loaded"), ("worker[1]", "ready"),
    } <= steps  # fmt: skip
    by_fault = {r.fault: r for r in collected.results.values()}
    killed = by_fault["SIGKILL@caller"]
    assert {"engine", "worker[0]", "worker[1]"} <= {p.charged_to for p in killed.problems}
    raised = by_fault["RuntimeError@engine"]
    assert raised.violation
