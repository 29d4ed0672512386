from __future__ import annotations

from pathlib import Path

import pytest

from faultinject.reports._github import render_github
from tests.reports._sample import POINTS, point, problem, result
from tests.reports._suites import BASELINE, CHANGES, suite


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_finding_is_one_annotation_at_its_line(repository: Path) -> None:
    lines = render_github([suite(root=repository)]).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("::error file=acme/engine.py,line=17,title=faultinject%3A leak::")
    assert "%0Areplay: faultinject replay" in lines[0]


def test_a_place_is_as_of_the_repository_wherever_one_stands(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "below").mkdir()
    monkeypatch.chdir(repository / "below")
    assert "file=acme/engine.py," in render_github([suite(root=repository)])


def test_a_clean_sweep_says_nothing() -> None:
    assert render_github([suite([result(POINTS[0])])]) == ""


def test_a_gate_annotates_its_baseline() -> None:
    excused = {r.id: "known" for r in suite().results if r.violation}
    lines = render_github([suite(excused=excused, changes=CHANGES)]).splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["::error", "::error", "::warning"]
    assert all(f"file={BASELINE},line=" in line for line in lines)


def test_no_text_can_begin_another_command() -> None:
    leak = problem(resources=("a\n::set-output name=x::y", "100%"))
    text = render_github([suite([result(point(3, file="a,b:c.py"), leak)])])
    assert text.count("\n") == 1
    assert "a%0A::set-output" in text
    assert "100%25" in text
