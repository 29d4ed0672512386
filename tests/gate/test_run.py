"""Real sweeps of a small class, in this process."""

from __future__ import annotations

import dataclasses
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from faultinject.errors import UsageError
from faultinject.gate import (
    Broken,
    Grant,
    accept,
    print_end,
    print_sweep,
    ruling_of,
    run_gate,
    self_test,
    suite_of,
    write_baseline,
    write_document,
)
from faultinject.gate import _run as run_module
from faultinject.gate import _self_test as self_test_module
from faultinject.gate._compare import Outcome
from faultinject.gate._run import GateSweep, Ran
from faultinject.reports import Kept
from faultinject.reports._markdown import render_markdown
from faultinject.sweep import Options
from tests.gate._project import LEAKING, LONGER, SOUND, TODAY, TOMORROW, gate_sweep, ran
from tests.trees._swept import write_target

GRANT = Grant("known", "ann", TOMORROW)


def test_a_baseline_that_leads_out_of_its_folder_is_refused_before_the_sweep(tmp_path: Path) -> None:
    sweep = gate_sweep(tmp_path / "project", LEAKING)
    sweep.matrices.mkdir()
    sweep.baseline.symlink_to(tmp_path / "elsewhere.toml")
    with pytest.raises(UsageError, match=r"the baseline .* leads out of"):
        ran(sweep)


def test_a_leak_is_new_then_listed_then_fixed_and_still_listed(tmp_path: Path) -> None:
    first = ran(gate_sweep(tmp_path, LEAKING))
    assert first.outcome.status == 1
    kinds = [change.kind for change in ruling_of(first).changes]
    assert kinds == ["new", "changed"]

    write_baseline(first.sweep.baseline, accept(first, GRANT, TODAY))
    again = ran(gate_sweep(tmp_path, LEAKING))
    assert again.outcome.status == 0
    assert len(ruling_of(again).excused) == 2
    assert ruling_of(again).changes == ()

    fixed = ran(gate_sweep(tmp_path, SOUND))
    assert fixed.outcome.status == 1
    (change,) = ruling_of(fixed).changes
    assert change.kind == "fixed"
    lines = fixed.sweep.baseline.read_text().splitlines()
    assert lines[change.line - 1] == "[[suppression]]"

    write_document(tmp_path / "gate.json", [fixed])
    document = json.loads((tmp_path / "gate.json").read_text())
    assert (document["schema"], document["status"]) == ("faultinject-gate/1", 1)
    assert document["sweeps"][0]["report"]["target"] == "light:Light"
    assert suite_of(fixed).failing() == ()


def test_a_call_more_is_for_review_and_a_line_more_is_nothing(tmp_path: Path) -> None:
    first = ran(gate_sweep(tmp_path, SOUND))
    write_baseline(first.sweep.baseline, accept(first, None, TODAY))
    assert ran(gate_sweep(tmp_path, "# a line more\n" + SOUND)).outcome.status == 0
    longer = ran(gate_sweep(tmp_path, LONGER))
    assert longer.outcome.status == 3
    (change,) = ruling_of(longer).changes
    assert change.title == "2 fault points appeared"
    assert "before and after getpid" in change.text


def test_a_budget_runs_a_part_and_says_which_turn_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in run_module.RUN_NUMBERS:
        monkeypatch.delenv(name, raising=False)
    text = "import os\n\nclass Light:\n    def __init__(self):\n" + "        os.getppid()\n" * 12
    record = tmp_path / "record.json"
    sweep = gate_sweep(tmp_path, text, record=record)
    first = ran(sweep, budget=0.001)
    assert (len(first.cases), len(first.report.cases), first.seed) == (24, 4, 1)
    second = ran(sweep, budget=0.001)
    assert second.seed == 2
    assert not {r.id for r in first.report.cases} & {r.id for r in second.report.cases}, (
        "never-run points first"
    )
    assert len(json.loads(record.read_text())["points"]) == 8

    monkeypatch.setenv("GITHUB_RUN_NUMBER", "77")
    assert ran(sweep, budget=600).seed == 77
    assert len(json.loads(record.read_text())["points"]) == 24


OWNING = """\
import os

class Light:
    def __init__(self):
        self.fd = os.open(os.devnull, os.O_RDONLY)
        try:
            os.getppid(); os.getppid(); os.getppid(); os.getppid(); os.getppid(); os.getppid()
            {guarded}
        except BaseException:
            os.close(self.fd)
            raise
        {alone}
    def close(self):
        os.close(self.fd)
"""
SMALL = 0.001
"""Seconds for which one run manages 4 of the 16 fault points."""


def owning(*, guarded: bool) -> str:
    """A class whose last call is guarded, or not."""
    return OWNING.format(**{"guarded": "", "alone": "", "guarded" if guarded else "alone": "os.getpid()"})


def test_an_open_violation_comes_first_until_it_is_seen_to_be_gone(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    first = ran(gate_sweep(tmp_path, owning(guarded=True), record=record))
    write_baseline(first.sweep.baseline, accept(first, None, TODAY))
    leaking = gate_sweep(tmp_path, owning(guarded=False), record=record)
    assert ran(leaking).outcome.status == 1
    for seed in range(3):
        again = ran(leaking, budget=SMALL, seed=seed)
        assert (again.outcome.status, len(again.report.cases)) == (1, 4), f"seed {seed}"
    gone = gate_sweep(tmp_path, owning(guarded=True), record=record)
    assert ran(gone, budget=SMALL, seed=1).outcome.status == 0
    assert json.loads(record.read_text())["failing"] == []


def test_what_is_fixed_and_still_listed_is_not_forgotten(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    first = ran(gate_sweep(tmp_path, owning(guarded=False), record=record))
    write_baseline(first.sweep.baseline, accept(first, GRANT, TODAY))
    repaired = gate_sweep(tmp_path, owning(guarded=True), record=record)
    assert ran(repaired).outcome.status == 1
    assert [ran(repaired, budget=SMALL, seed=seed).outcome.status for seed in range(3)] == [1] * 3


def test_points_that_the_baseline_does_not_have_come_first(tmp_path: Path) -> None:
    body = "import os\n\nclass Light:\n    def __init__(self):\n"
    first = ran(gate_sweep(tmp_path, body + "        os.getppid()\n" * 12))
    write_baseline(first.sweep.baseline, accept(first, None, TODAY))
    more = body + "        os.getppid()\n" * 12 + "        os.getpid()\n"
    second = ran(gate_sweep(tmp_path, more), budget=0.001, seed=5)
    assert sum(r.point.callee == "posix:getpid" for r in second.report.cases) == 2


def test_a_baseline_that_is_wrong_is_said_before_anything_runs(tmp_path: Path) -> None:
    sweep = gate_sweep(tmp_path, SOUND)
    sweep.baseline.parent.mkdir()
    sweep.baseline.write_text("format = 7\n")

    def never(_: object) -> Kept:
        raise AssertionError("swept")

    with pytest.raises(UsageError, match="has format 7"):
        list(run_gate([sweep], watch=never, today=TODAY))


def test_a_gate_that_judged_nothing_does_not_pass(tmp_path: Path) -> None:
    class Blind(Kept):
        def case(self, result: object) -> None:
            super().case(msgspec.structs.replace(result, verdict="not-reached", violation=False))  # type: ignore[type-var]

    (made,) = run_gate([gate_sweep(tmp_path, SOUND)], watch=lambda _: Blind(), today=TODAY)
    assert isinstance(made, Broken)
    assert "none of its 4 cases could be judged" in str(made.error)
    assert ruling_of(made).status == 2


def test_what_could_not_be_judged_and_another_python_are_said(tmp_path: Path) -> None:
    first = ran(gate_sweep(tmp_path, SOUND))
    before = msgspec.structs.replace(accept(first, None, TODAY), python="2.7", version="1.0")
    fewer = msgspec.structs.replace(before, points=before.points[1:])
    missed = tuple(
        msgspec.structs.replace(one, verdict="unstable") if number < 2 else one
        for number, one in enumerate(first.report.cases)
    )
    half = dataclasses.replace(
        first, report=msgspec.structs.replace(first.report, cases=missed), version="1.1"
    )
    ids = ", ".join(f"{one.id} unstable" for one in missed[:2])
    unknown = f"nothing is known of 2 cases: {ids}"
    python = ".".join(map(str, sys.version_info[:2]))
    elsewhere = (
        f"the baseline is of Python 2.7, this is Python {python}",
        "the baseline is of version 1.0, this is version 1.1",
    )
    assert ruling_of(half.compared(before, TODAY)).notes == (unknown,), "nothing changed"
    changed = half.compared(fewer, TODAY)
    assert changed.outcome.status == 3
    assert ruling_of(changed).notes == (unknown, *elsewhere)

    console = Console(file=io.StringIO(), width=200)
    print_sweep(console, changed, TODAY)
    print_end(console, [changed])
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert [f"  note: {note}" for note in (unknown, *elsewhere)] == said.splitlines()[-4:-1]
    assert "No new violation in 4 cases of 1 sweep (nothing known of 2 cases), but the target changed" in said
    assert f"Nothing is known of 2 cases: {ids}." in render_markdown([suite_of(changed)])


def test_the_self_test_passes_here_and_fails_where_the_gate_cannot_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = gate_sweep(tmp_path, SOUND).options
    made: list[Ran] = []

    def kept(sweeps: list[GateSweep], **keywords: Any) -> Iterator[Ran]:
        made.extend(run_gate(sweeps, **keywords))
        yield made[-1]

    monkeypatch.setattr(self_test_module, "run_gate", kept)
    checks = list(self_test(options, TODAY, lambda _: Kept()))
    assert [check.got for check in checks] == [check.wanted for check in checks]
    assert {check.wanted for check in checks} == {0, 1, 3}

    def blind(sweeps: list[GateSweep], **_: Any) -> Iterator[Ran]:
        yield dataclasses.replace(made.pop(0), sweep=sweeps[0], outcome=Outcome(True))

    monkeypatch.setattr(self_test_module, "run_gate", blind)
    monkeypatch.setattr(run_module, "compare", lambda *_: Outcome(True))
    checks = list(self_test(options, TODAY, lambda _: Kept()))
    assert [check.got for check in checks] == [0] * len(checks)
    assert sum(check.got != check.wanted for check in checks) == 5


def test_a_tree_of_processes_has_a_gate_too(tmp_path: Path) -> None:
    spec = write_target(tmp_path)
    options = Options(target=spec, level="milestones", faults=("SIGKILL",), repeats=1, deadline=2.0)
    sweep = GateSweep(options, tmp_path / "matrices")
    first = ran(sweep, budget=0.001, seed=1)
    assert len(first.report.cases) < len(first.cases)
    write_baseline(sweep.baseline, accept(first, GRANT, TODAY))
    again = ran(sweep, budget=0.001, seed=1)
    assert not again.outcome.points
    assert again.outcome.status == 0
