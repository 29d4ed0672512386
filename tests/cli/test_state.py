"""What one command leaves for the next, where somebody else's directory is not what it seems."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from faultinject.cli._state import gate_record, last_report, recalled, remember
from faultinject.errors import UsageError
from faultinject.gate._record import Record, write_record
from faultinject.sweep import Options
from faultinject.targets import TargetSpec

OPTIONS = Options(target=TargetSpec("light:Light"))


@pytest.fixture(autouse=True)
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that no command has a business in; the working directory is beside it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "outside"


def test_nothing_is_kept_behind_a_symbolic_link(outside: Path) -> None:
    Path(".faultinject").symlink_to(outside)
    assert last_report() is None
    assert gate_record(Path("matrices/light.steps.baseline.toml")) is None
    remember(OPTIONS)
    assert list(outside.iterdir()) == []
    with pytest.raises(UsageError, match=r"it is a symbolic link.*--target TARGET"):
        recalled()


def test_nor_behind_one_in_the_place_of_the_folder_for_the_gate(outside: Path) -> None:
    assert last_report() == Path(".faultinject/last.json")
    Path(".faultinject/gate").symlink_to(outside)
    path = gate_record(Path("matrices/light.steps.baseline.toml"))
    write_record(path, Record(), {"a": "1"}, frozenset("a"))
    assert path is None
    assert list(outside.iterdir()) == []


def test_in_a_directory_of_its_own_it_is_kept() -> None:
    remember(OPTIONS)
    assert recalled() == OPTIONS
    path = gate_record(Path("matrices/light.steps.baseline.toml"))
    assert path is not None
    assert re.fullmatch(r"\.faultinject/gate/light\.steps-[0-9a-f]{8}\.json", str(path))
    write_record(path, Record(), {"a": "1"}, frozenset("a"))
    assert path.is_file()
    assert [p.read_text() for p in Path().rglob(".gitignore")] == ["*\n"]
