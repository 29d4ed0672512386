"""The action, the hook and the snippets that other people's pipelines run: parsed, and their shell run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from faultinject.cli import app
from tests.cli._here import here
from tests.test_docs import blocks

ROOT = Path(__file__).resolve().parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
SNIPPETS = [yaml.safe_load(b.text) for b in blocks(ROOT / "docs" / "ci.md") if b.language == "yaml"]
_EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    skip = shutil.ignore_patterns("__pycache__", ".faultinject")
    return Path(shutil.copytree(ROOT / "examples" / "library", tmp_path / "library", ignore=skip))


class Run:
    """A run of the action's shell steps, as GitHub runs them: with its bash, its files and its variables."""

    def __init__(self, project: Path, **inputs: str) -> None:
        self.project = project
        defaults = {name: given["default"] for name, given in ACTION["inputs"].items()}
        self.values = {f"inputs.{name}": value for name, value in {**defaults, **inputs}.items()}
        self.values["inputs.python"] = sys.executable
        self.values["github.action_path"] = str(ROOT)
        self.files = {name: project.parent / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}

    def step(self, name: str) -> subprocess.CompletedProcess[str]:
        (step,) = [step for step in ACTION["runs"]["steps"] if step["name"] == name]
        for file in self.files.values():
            file.touch()
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.project, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
            env={
                **os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1",
                **{key: str(path) for key, path in self.files.items()},
                **{key: self.filled(value) for key, value in step["env"].items()},
            },
        )  # fmt: skip
        for line in self.files["GITHUB_OUTPUT"].read_text().splitlines():
            key, _, value = line.partition("=")
            self.values[f"steps.{step.get('id')}.outputs.{key}"] = value
        return done

    def filled(self, text: str) -> str:
        return _EXPRESSION.sub(lambda found: self.values[found[1]], text)


def test_the_action_has_the_form_that_github_asks_for() -> None:
    assert {"name", "description", "inputs", "outputs", "runs"} <= ACTION.keys()
    assert ACTION["runs"]["using"] == "composite"
    for name, given in ACTION["inputs"].items():
        assert given.keys() == {"description", "default"}, name
        assert isinstance(given["default"], str), f"{name}: GitHub has text only"
    for step in ACTION["runs"]["steps"]:
        assert ("run" in step) != ("uses" in step), step["name"]
        if "run" in step:
            assert step["shell"] == "bash"
            # What a user writes reaches the shell as a variable, never as a part of the script.
            assert "${{" not in step["run"]
        else:
            assert re.fullmatch(r"[\w.-]+(/[\w.-]+)+@[\w.-]+", step["uses"])


def test_every_expression_of_the_action_names_something_that_there_is() -> None:
    ids = {step["id"] for step in ACTION["runs"]["steps"] if "id" in step}
    text = (ROOT / "action.yml").read_text()
    for name in re.findall(r"inputs\.([\w-]+)", text):
        assert name in ACTION["inputs"], name
    for name in re.findall(r"steps\.(\w+)\.", text):
        assert name in ids, name
    used = set(re.findall(r"inputs\.([\w-]+)", text))
    assert used == set(ACTION["inputs"]), "an input that nothing reads"


def test_the_gate_of_the_action_passes_annotates_and_summarises(project: Path) -> None:
    run = Run(project, targets="feed", level="steps", budget="5m")
    gate = run.step("Gate")
    assert gate.returncode == 0, gate.stderr
    assert run.values["steps.gate.outputs.status"] == "0"
    assert "The gate passes" in gate.stdout
    assert "### faultinject: `feed`" in run.files["GITHUB_STEP_SUMMARY"].read_text()
    assert (project / "faultinject.xml").exists()
    assert (project / "faultinject.sarif").exists()
    assert run.step("Result").returncode == 0


def test_targets_may_stand_on_several_lines(project: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {shlex.quote(str(told))}\n')
    python.chmod(0o755)
    run = Run(project, targets="feed\n  pool\nother  last\n")
    run.values["inputs.python"] = str(python)
    assert run.step("Gate").returncode == 0
    assert told.read_text().splitlines()[-4:] == ["feed", "pool", "other", "last"]


def test_what_has_run_is_kept_apart_by_job_python_folder_and_targets(project: Path) -> None:
    (cache,) = [step for step in ACTION["runs"]["steps"] if "actions/cache" in step.get("uses", "")]
    given = cache["with"]
    values = {"github.job": "gate", "github.ref_name": "main", "github.run_id": "7"}
    values["github.run_attempt"] = "1"

    def key(**inputs: str) -> str:
        run = Run(project, **inputs)
        run.values.update(values)
        done = run.step("What this is the gate of")
        assert done.returncode == 0, done.stderr
        filled = run.filled(given["key"])
        for line in given["restore-keys"].splitlines():
            assert filled.startswith(run.filled(line))
            assert run.values["steps.scope.outputs.name"] in run.filled(line)
        return filled

    (project / "below").mkdir()
    usual = key()
    assert "-gate-" in usual
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in usual
    assert usual == key()
    assert len({usual, key(directory="below"), key(targets="feed\npool"), key(level="steps")}) == 4
    values["github.job"] = "other"
    assert key() != usual


def test_the_action_fails_the_job_after_its_reports_are_written(project: Path) -> None:
    shutil.copy(project / "repaired.py", project / "feed.py")
    run = Run(project, junit="", sarif="")
    gate = run.step("Gate")
    assert gate.returncode == 0, "the step itself goes on, so that the reports are sent"
    assert "::error file=matrices/feed.steps.baseline.toml,line=" in gate.stdout
    assert run.values["steps.gate.outputs.status"] == "1"
    assert "**The gate fails**" in run.files["GITHUB_STEP_SUMMARY"].read_text()
    assert not list(project.glob("faultinject.*"))
    assert run.step("Result").returncode == 1


@pytest.mark.parametrize(
    ("allowed", "status", "wanted"), [("true", "3", 0), ("false", "3", 3), ("true", "1", 1)]
)
def test_changes_leave_the_job_green_only_where_that_is_asked_for(
    project: Path, allowed: str, status: str, wanted: int
) -> None:
    run = Run(project, **{"allow-changes": allowed})
    run.values["steps.gate.outputs.status"] = status
    assert run.step("Result").returncode == wanted


def test_the_action_installs_itself(project: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$@" > {shlex.quote(str(told))}\n')
    python.chmod(0o755)
    run = Run(project)
    run.values["inputs.python"] = str(python)
    assert run.step("Install faultinject").returncode == 0
    assert told.read_text().split() == ["-m", "pip", "install", "--disable-pip-version-check", str(ROOT)]
    assert run.step("Self-test of the gate").returncode == 0
    assert told.read_text().split() == ["-m", "faultinject", "gate", "--self-test", "--directory", "."]


def test_the_hook_has_the_form_that_pre_commit_asks_for_and_passes(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hook,) = HOOKS
    assert {"id", "name", "entry", "language"} <= hook.keys()
    assert hook["pass_filenames"] is False
    command, *words = shlex.split(hook["entry"])
    assert command == "faultinject"
    monkeypatch.chdir(project)
    assert here(*words)[0] == 0


def test_the_snippets_of_the_page_name_what_there_is() -> None:
    github, gitlab, pre_commit = SNIPPETS
    (job,) = github["jobs"].values()
    ours = job["steps"][-1]
    assert set(ours["with"]) <= set(ACTION["inputs"])
    assert all(isinstance(value, str) for value in ours["with"].values())
    assert pre_commit["repos"][0]["hooks"] == [{"id": HOOKS[0]["id"]}]
    (job,) = gitlab.values()
    assert job["artifacts"]["reports"]["junit"] in job["script"][-1]
    assert job["allow_failure"] == {"exit_codes": 3}


def test_the_page_has_every_input_of_the_action_with_its_default() -> None:
    text = (ROOT / "docs" / "ci.md").read_text()
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (?:`([^`]*)`)? *\|", text, re.M))
    assert {name: rows.get(name) for name in ACTION["inputs"]} == {
        name: given["default"] for name, given in ACTION["inputs"].items()
    }


def test_the_commands_of_the_gitlab_job_run(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (job,) = SNIPPETS[1].values()
    monkeypatch.chdir(project)
    for line in job["script"]:
        command, *words = shlex.split(line)
        if command == "faultinject":
            assert here(*words)[0] == 0
    assert "seed" in capsys.readouterr().out
    assert (project / job["artifacts"]["reports"]["junit"]).exists()
    for path in job["artifacts"]["paths"]:
        assert (project / path).exists()
    for path in job["cache"]["paths"]:
        assert (project / path).is_dir()


def test_the_page_has_every_format() -> None:
    from faultinject.reports import FORMATS

    text = (ROOT / "docs" / "ci.md").read_text()
    assert [name for name in FORMATS if f"| `{name}` |" not in text] == []
    for name in ("sweep", "gate"):
        command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
        (option,) = [p for p in command.params if "--report" in p.opts]
        assert all(form in option.help for form in FORMATS)
