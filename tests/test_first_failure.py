"""A newcomer: an empty environment, the wheel, and what docs/getting-started.md says, to the letter."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_docs import ROOT, Block, blocks, commands, first_missing

PAGE = ROOT / "docs" / "getting-started.md"
LIMIT_S = 120.0
"""What the project promises, from ``pip install`` to the first explained failure."""
LINES = 10
"""What it promises of what a user has to write."""


class Newcomer:
    """Somebody in a folder of a project of their own, with an environment of their own.

    Attributes:
        directory: of the project.
        seconds: since the installation began.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "project"
        self.directory.mkdir()
        self.environment = directory / "environment"
        self.variables = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "FAULTINJECT", "COV_", "PYTEST"))
        } | {"NO_COLOR": "1", "COLUMNS": "110", "PYTHONDONTWRITEBYTECODE": "1"}
        self.variables["PATH"] = f"{self.environment / 'bin'}:{os.environ['PATH']}"
        self.began = 0.0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def install(self, wheel: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", str(self.environment)], check=True, timeout=300)
        self.began = time.monotonic()
        done = self.run(["pip", "install", "--quiet", str(wheel)])
        assert done.returncode == 0, done.stdout

    def run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.environment / "bin" / command[0]), *command[1:]], cwd=self.directory, text=True,
            env=self.variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=300, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as it would be published."""
    built = tmp_path_factory.mktemp("wheel")
    # In a process of its own: a build backend changes the working directory's state as it likes.
    script = f"from hatchling.build import build_wheel\nbuild_wheel({str(built)!r})\n"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT, timeout=120, capture_output=True)
    return next(built.glob("*.whl"))


def until_the_first_failure() -> Iterator[Block]:
    """The page up to its first command that finds something, that block included."""
    for block in blocks(PAGE):
        yield block
        if block.notes.get("exit") == "1":
            return


@pytest.mark.timeout(600)
def test_the_first_explained_failure_comes_within_two_minutes(wheel: Path, tmp_path: Path) -> None:
    assert "`pip install faultinject`" in PAGE.read_text()
    newcomer = Newcomer(tmp_path)
    newcomer.install(wheel)
    written: list[str] = []
    last = ""
    for block in until_the_first_failure():
        if "in" in block.notes:
            shutil.copytree(ROOT / block.notes["in"], newcomer.directory, dirs_exist_ok=True)
        if block.language == "toml" or "file" in block.notes:
            written += [line for line in block.text.splitlines() if line.strip()]
        if block.language == "console":
            for command, expected in commands(block.text):
                done = newcomer.run(command.split())
                last = done.stdout
                assert done.returncode == int(block.notes.get("exit", "0")), last
                assert first_missing(expected, last) is None, last
    assert newcomer.seconds < LIMIT_S
    assert len(written) < LINES
    # Correct, and explained: what is missing, from which line on, what stayed, until when, and how to see it.
    assert "1. leak, 12 cases: Client.__init__ has no handler around line 14 that releases fds" in last
    assert re.search(r"owned +fds", last)
    assert re.search(r"left +\+2 fds: fd \d+ -> pipe:", last)
    assert "given back only at interpreter exit" in last
    again = re.search(r"faultinject replay ([0-9a-f]{8})", last)
    assert again
    shown = newcomer.run(["faultinject", "replay", again[1]])
    assert shown.returncode == 1
    assert "Timeline" in shown.stdout
    page = newcomer.run(["faultinject", "report", ".faultinject/last.json", "html:report.html"])
    assert page.stdout.strip() == "wrote report.html"
    assert "Client.__init__ has no handler" in (newcomer.directory / "report.html").read_text()


def test_line_14_of_the_example_is_where_the_repair_begins() -> None:
    lines = (ROOT / "examples" / "quickstart" / "leaking.py").read_text().splitlines()
    assert "selectors.DefaultSelector()" in lines[13]
