"""``faultinject bisect``: versions in virtual environments, and kept reports of them."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli._command import one_line
from tests.cli._here import here

LIGHT = """
import os

class Light:
    def __init__(self):
        self.fd = os.open(os.devnull, os.O_RDONLY)
        {check}
    def close(self):
        os.close(self.fd)
"""
LEAKS = LIGHT.format(check="os.getpid()")
MENDED = LIGHT.format(
    check="""try:
            os.getpid()
        except BaseException:
            os.close(self.fd)
            raise"""
)
SWEEP = (
    "versioned:Light", "--release", "close", "--repeats", "1", "--jobs", "1", "--settle", "0.05",
)  # fmt: skip


@pytest.fixture
def environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Interpreters that each find another version of the target: 1.2 has the leak mended."""
    for version, source in (("1.0", LEAKS), ("1.1", LEAKS), ("1.2", MENDED), ("1.3", MENDED)):
        folder = tmp_path / version
        (folder / "bin").mkdir(parents=True)
        (folder / "versioned.py").write_text(f'__version__ = "{version}"\n{source}')
        python = folder / "bin" / "python"
        paths = shlex.quote(f"{folder}:{os.environ.get('PYTHONPATH', '')}")
        python.write_text(f'#!/bin/sh\nPYTHONPATH={paths} exec {shlex.quote(sys.executable)} "$@"\n')
        python.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_version_that_mended_a_leak_is_named(
    environments: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newest = [str(environments / "1.3" / "bin" / "python"), "-m", "faultinject"]
    subprocess.run([*newest, "sweep", *SWEEP, "--quiet", "--json", "kept.json"], check=True)
    cases = json.loads(Path("kept.json").read_text())["cases"]
    case = next(case["id"] for case in cases if case["point"]["callee"] == "posix:getpid")
    assert here("bisect", *SWEEP, "--case", case, "--versions", "1.0, 1.1, 1.2, kept.json") == (0, "")
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "before getpid (Light.__init__:9): RuntimeError",
        "  1.0: leak",
        "  1.1: leak",
        "  1.2: clean",
        "  1.3 (kept.json): clean",
        "It is clean since 1.2, and was leak up to 1.1.",
    ]
    assert said.err.splitlines() == [
        f"sweeping versioned:Light with {v}/bin/python" for v in ("1.0", "1.1", "1.2")
    ]
    assert here("bisect", *SWEEP, "--case", case, "--versions", "1.2/bin/python,kept.json")[0] == 1
    assert capsys.readouterr().out.endswith("It is clean in every version.\n")


def test_a_wrong_request_is_said_in_one_line(environments: Path) -> None:
    Path("none").mkdir()
    for versions, options, said in (
        ("1.0", (), "--versions names 1: give two or more, with commas between them"),
        ("1.0,1.1,1.0", (), "--versions names 1.0 twice"),
        ("1.0,none", (), "none is no virtual environment: there is no none/bin/python"),
        ("1.0,1.1", ("--fault", "Nope"), "unknown fault 'Nope'"),
    ):
        status, error = here("bisect", *SWEEP, "--case", "00000000", "--versions", versions, *options)
        assert status == 2, versions
        assert said in one_line(error)
