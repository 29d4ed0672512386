from __future__ import annotations

from pathlib import Path

import pytest

from faultinject.errors import UsageError
from faultinject.gate import read_settings

TARGETS = "[tool.faultinject.targets.a]\ncallable = 'm:A'\n[tool.faultinject.targets.b]\ncallable = 'm:B'\n"


def settings(folder: Path, text: str) -> tuple[list[tuple[str, dict[str, object]]], Path]:
    (folder / "pyproject.toml").write_text(text)
    found = read_settings(folder)
    return [(row.target, row.keys) for row in found.rows], found.matrices


def test_without_more_each_target_is_a_sweep(tmp_path: Path) -> None:
    assert settings(tmp_path, TARGETS) == ([("a", {}), ("b", {})], tmp_path / "matrices")


def test_keys_of_the_gate_are_for_all_and_those_of_a_row_for_one(tmp_path: Path) -> None:
    rows, matrices = settings(
        tmp_path,
        TARGETS + "[tool.faultinject.gate]\nmatrices = 'known/here'\nlevel = 'sites'\nrepeats = 1\n"
        "[[tool.faultinject.gate.sweep]]\ntarget = 'b'\nlevel = 'steps'\n"
        "[[tool.faultinject.gate.sweep]]\ntarget = 'm:C'\n",
    )
    assert rows == [("b", {"level": "steps", "repeats": 1}), ("m:C", {"level": "sites", "repeats": 1})]
    assert matrices == tmp_path / "known" / "here"


def test_the_project_is_found_from_below(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(TARGETS)
    below = tmp_path / "src" / "a"
    below.mkdir(parents=True)
    assert read_settings(below).directory == tmp_path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool\n", "is no TOML"),
        ("", "names no target"),
        ("[tool]\nfaultinject = 3", "[tool.faultinject] in"),
        ("[tool.faultinject]\ngat = {}", "unknown key 'gat' of [tool.faultinject] (did you mean gate?)"),
        ("[tool.faultinject]\ngate = 3", "[tool.faultinject.gate] in"),
        (TARGETS + "[tool.faultinject.gate]\nsweep = 'a'", "must be rows"),
        (TARGETS + "[tool.faultinject.gate]\nsweep = []", "must be rows"),
        (TARGETS + "[tool.faultinject.gate]\ntarget = 'a'", "belongs in [[tool.faultinject.gate.sweep]]"),
        (TARGETS + "[[tool.faultinject.gate.sweep]]\nlevel = 'steps'", "row 1 in"),
        (TARGETS + "[[tool.faultinject.gate.sweep]]\ntarget = 3", "it names no target"),
        (TARGETS + "[tool.faultinject.gate]\nmatrices = '../elsewhere'", "lies outside of the project"),
        (TARGETS + "[tool.faultinject.gate]\nmatrices = '/etc'", "lies outside of the project"),
        (TARGETS + "[tool.faultinject.gate]\nmatrices = 3", "no name of a folder"),
        (TARGETS + '[tool.faultinject.gate]\nmatrices = "a\\u0000"', "'a\\x00' lies outside of the project"),
    ],
)
def test_a_mistake_is_one_line_with_the_file(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        settings(tmp_path, text)
    assert said in str(caught.value)
    assert "pyproject.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_that_a_link_leads_out_of_the_project_is_refused(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "matrices").symlink_to(tmp_path)
    with pytest.raises(UsageError, match="lies outside of the project"):
        settings(project, TARGETS)


def test_without_a_pyproject_it_is_said_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no pyproject.toml in .* or above it"):
        read_settings(tmp_path)
