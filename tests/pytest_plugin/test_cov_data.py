"""What is printed of the data of the clean-up coverage."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from faultinject.pytest_plugin._cov import report


class Screen:
    """As much of pytest's terminal as a report needs."""

    def __init__(self, root: Path) -> None:
        self.config = SimpleNamespace(rootpath=root, getoption=lambda name: "")
        self.lines: list[str] = []

    def section(self, title: str) -> None:
        self.lines.append(title)

    line = section


@pytest.mark.parametrize("link", [False, True], ids=["folder", "link"])
def test_the_data_is_not_written_behind_a_symbolic_link(tmp_path: Path, link: bool) -> None:
    pytest.importorskip("coverage")
    (tmp_path / "away").mkdir()
    (tmp_path / "work.py").write_text("try:\n    1\nfinally:\n    2\n")
    if link:
        (tmp_path / ".faultinject").symlink_to(tmp_path / "away")
    screen: Any = Screen(tmp_path)
    report([[("case", {str(tmp_path / "work.py"): [4]})]], {}, screen)
    assert screen.lines[1] == "work.py     1 of    1  100%"
    assert ("is not written" in screen.lines[2]) == link
    assert ("it is a symbolic link" in screen.lines[2]) == link
    assert list((tmp_path / "away").iterdir()) == []
