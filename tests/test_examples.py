"""The small projects under ``examples/``: their gates pass, and fail when somebody breaks them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli._here import here

ROOT = Path(__file__).resolve().parents[1]


def project(name: str, folder: Path) -> Path:
    skip = shutil.ignore_patterns("__pycache__", ".faultinject")
    return Path(shutil.copytree(ROOT / "examples" / name, folder / name, ignore=skip))


@pytest.fixture
def gate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Runs the gate of a folder."""

    def run(folder: Path, *words: str) -> tuple[int, str]:
        monkeypatch.chdir(folder)
        status, error = here("gate", *words)
        return status, capsys.readouterr().out + error

    return run


Gate = Callable[..., tuple[int, str]]


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


@pytest.mark.parametrize("name", ["service", "engine-plugin"])
def test_a_sound_project_passes_its_gate(name: str, tmp_path: Path, gate: Gate) -> None:
    status, said = gate(project(name, tmp_path))
    assert status == 0, said
    assert said.startswith("The gate passes: nothing new in 18 cases of 2 sweeps.")


def test_the_library_passes_with_its_known_leak_and_fails_when_that_is_repaired(
    tmp_path: Path, gate: Gate
) -> None:
    folder = project("library", tmp_path)
    status, said = gate(folder)
    assert status == 0, said
    assert "(4 cases suppressed)" in said

    shutil.copy(folder / "repaired.py", folder / "feed.py")
    status, said = gate(folder)
    assert status == 1, said
    assert "late of fds charged to FeedClient.__init__: 4 of its 4 cases fixed, and still listed" in said
    assert gate(folder, "--accept")[0] == 0


def test_a_service_whose_pool_is_forgotten_fails_its_gate(tmp_path: Path, gate: Gate) -> None:
    folder = project("service", tmp_path)
    edit(folder / "service.py", "            undo.callback(self.pool.close)\n", "")
    status, said = gate(folder, "service")
    assert status == 1, said
    assert "Service.__init__ has no handler around line" in said
    assert "releases pool" in said


def test_a_plugin_that_keeps_its_trace_file_fails_its_gate(tmp_path: Path, gate: Gate) -> None:
    folder = project("engine-plugin", tmp_path)
    unlink = "                os.unlink(self.path)\n"
    edit(folder / "tracing_plugin.py", unlink, "")
    status, said = gate(folder, "executor")
    assert status == 1, said
    assert "TracingExecutor.__init__ has no handler around line" in said


def test_the_stand_in_says_that_it_is_one() -> None:
    text = (ROOT / "examples" / "engine-plugin" / "standin_engine.py").read_text()
    assert "this is no vLLM" in text
    assert "import vllm" not in text
