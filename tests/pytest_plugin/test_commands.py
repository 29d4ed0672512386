"""The commands that a failure names do what the run did."""

from __future__ import annotations

import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import typer.main

from faultinject.cli import app
from faultinject.pytest_plugin._commands import alone, anew
from faultinject.pytest_plugin._planned import Plan
from faultinject.pytest_plugin._settings import Settings
from faultinject.sweep import Options
from faultinject.targets import TargetSpec

ROOT = Path("/project")


def config(folder: Path = ROOT, ini: Path | None = ROOT / "pytest.ini", **given: object) -> Any:
    return SimpleNamespace(
        rootpath=ROOT, inipath=ini, invocation_params=SimpleNamespace(dir=folder), getoption=given.get
    )


def settings(target: TargetSpec, matrices: Path = ROOT / "matrices") -> Settings:
    return Settings(Options(target=target), matrices, "none", 0, 0, (), False)


def test_the_matrix_is_written_anew_with_what_the_mark_says_and_the_faults_it_has() -> None:
    plan = Plan(("KeyError",), (), 0, kind="matrix", listed=("RuntimeError",), second=True)
    target = TargetSpec("client:Client", "close", "/project/src", ("client:Base.*",))
    command = anew("matrix", plan, settings(target, ROOT / "kept here"), config())
    assert command == (
        "faultinject matrix client:Client --release close --own 'client:Base.*' "
        "--fault RuntimeError,KeyError --second --directory src --matrices 'kept here'"
    )
    _, name, *words = shlex.split(command)
    group: Any = typer.main.get_command(app)
    with group.commands[name].make_context(name, words) as context:
        assert context.params["fault"] == "RuntimeError,KeyError"
    usual = Plan((), (), 0, kind="matrix", listed=("RuntimeError", "KeyboardInterrupt"))
    command = anew("matrix", usual, settings(TargetSpec("client:Client", directory="/project")), config())
    assert command == "faultinject matrix client:Client"
    assert anew("baseline", usual, settings(target), config()) == "faultinject gate --accept"


def test_a_case_of_a_block_is_run_alone_with_the_settings_of_the_command_line() -> None:
    def command(test: str, one: Any) -> str:
        item: Any = SimpleNamespace(
            config=one, path=ROOT / "tests/test_it.py", nodeid=f"tests/test_it.py::{test}"
        )
        return alone(item, "0123abcd")

    assert command("test_it", config()) == "pytest tests/test_it.py::test_it --faultinject-case 0123abcd"
    given = config(faultinject_level="sites", override_ini=["faultinject_faults=KeyError", "addopts=-x"])
    assert command("test_it[a b]", given) == (
        "pytest 'tests/test_it.py::test_it[a b]' --faultinject-case 0123abcd --faultinject-level=sites "
        "-o faultinject_faults=KeyError"
    )
    # The ids hold the path from the root, which pytest guesses from the arguments where there is no ini file.
    assert command("test_it", config(ROOT / "tests", None)) == (
        "pytest test_it.py::test_it --faultinject-case 0123abcd --rootdir .."
    )
