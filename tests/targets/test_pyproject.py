from __future__ import annotations

import os
from typing import Any

import pytest

from faultinject.errors import FaultinjectError, TargetError, UsageError
from faultinject.targets import TargetSpec, resolve

FULL = """
[tool.faultinject.targets.full]
callable = "MODULE:Needs"
args = ["@MODULE:fresh"]
kwargs = { colour = ["@@red", "@MODULE:Plain.build"], depth = 3 }
release = "close"
environment = { TARGETS_TEST_MODE = "yes" }
ignore = ["fds:*urandom"]
screen = true
own = ["MODULE:Base.*"]

[tool.faultinject.targets.short]
callable = "MODULE:factory"
"""


def test_a_table_says_everything_about_its_target(project: Any) -> None:
    project.pyproject(FULL)
    target = project.resolve("full")
    assert (target.name, target.release, target.screen) == ("full", "close", True)
    assert target.ignore == ("fds:*urandom",)
    assert target.own == (f"{project.module}:Base.*",)
    assert target.environment == {"TARGETS_TEST_MODE": "yes"}
    function, args, kwargs = target.prepare()
    made = function(*args, **kwargs)
    assert type(made).__name__ == "Needs"
    assert (made.size, made.depth) == ([], 3)
    assert made.colour[0] == "@red"
    assert type(made.colour[1]).__name__ == "Plain"


def test_arguments_are_made_afresh_for_every_construction(project: Any) -> None:
    project.pyproject(FULL)
    target = project.resolve("full")
    _, (first,), first_kwargs = target.prepare()
    first.append("changed by a construction")
    first_kwargs["colour"].clear()
    _, (second,), second_kwargs = target.prepare()
    assert second == []
    assert len(second_kwargs["colour"]) == 2


def test_the_environment_is_set_before_the_module_is_imported(project: Any) -> None:
    module = project.write(
        "env", "import os\nseen = os.environ['TARGETS_TEST_EARLY']\ndef f(): return seen\n"
    )
    project.pyproject(
        f'[tool.faultinject.targets.early]\ncallable = "{module}:f"\n'
        'environment = { TARGETS_TEST_EARLY = "in time" }\n'
    )
    function, args, kwargs = project.resolve("early").prepare()
    assert function(*args, **kwargs) == os.environ["TARGETS_TEST_EARLY"] == "in time"


def test_the_command_lines_release_wins(project: Any) -> None:
    project.pyproject(FULL)
    assert project.resolve("full", release="stop").release == "stop"


def test_the_command_lines_own_frames_come_on_top_of_the_tables(project: Any) -> None:
    project.pyproject(FULL)
    spec = TargetSpec("full", directory=str(project.directory), own=("other:*",))
    assert resolve(spec).own == (f"{project.module}:Base.*", "other:*")


def test_a_pyproject_above_the_directory_is_found(project: Any) -> None:
    project.pyproject(FULL)
    below = project.directory / "a" / "b"
    below.mkdir(parents=True)
    (below / f"{project.module}.py").write_text((project.directory / f"{project.module}.py").read_text())
    target = resolve(TargetSpec("short", directory=str(below)))
    function, args, kwargs = target.prepare()
    assert type(function(*args, **kwargs)).__name__ == "Plain"


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("relase = 'close'\ncallable = 'MODULE:Plain'", "unknown key 'relase' (did you mean release"),
        ("release = 'close'", "callable"),
        ("callable = 3", "callable"),
        ("callable = 'MODULE:Plain'\nargs = 'x'", "args"),
        ("callable = 'MODULE:Plain'\nenvironment = { A = 1 }", "environment"),
        ("callable = 'MODULE:Plane'", "did you mean Plain"),
        ("callable = 'Plain'", "module:callable"),
        ("callable = 'MODULE:Plain'\nargs = [1]", "too many positional arguments"),
        ("callable = 'MODULE:Needs'", "needs arguments (size, colour)"),
        ("callable = 'MODULE:Needs'\nargs = ['@MODULE:fres']\nkwargs = {colour=1}", "did you mean fresh"),
        ("callable = 'MODULE:Needs'\nargs = ['@fresh']\nkwargs = {colour=1}", "module:callable"),
    ],
)
def test_a_table_with_a_mistake_is_refused_by_name(project: Any, table: str, text: str) -> None:
    project.pyproject("[tool.faultinject.targets.wrong]\n" + table)
    with pytest.raises(FaultinjectError) as caught:
        project.resolve("wrong")
    message = str(caught.value)
    assert text in message
    assert "[tool.faultinject.targets.wrong]" in message
    assert "pyproject.toml" in message
    assert "\n" not in message


def test_a_target_that_is_no_table_is_refused(project: Any) -> None:
    project.pyproject("[tool.faultinject.targets]\nwrong = 3\n")
    with pytest.raises(UsageError, match="wrong"):
        project.resolve("wrong")


def test_targets_that_are_no_table_are_refused(project: Any) -> None:
    project.pyproject("[tool.faultinject]\ntargets = 3\n")
    with pytest.raises(UsageError, match="must be a table"):
        project.resolve("wrong")


def test_a_broken_file_is_named(project: Any) -> None:
    project.pyproject("[tool\n")
    with pytest.raises(UsageError, match="is no TOML"):
        project.resolve("anything")


def test_an_unknown_name_says_what_there_is(project: Any) -> None:
    project.pyproject(FULL)
    with pytest.raises(UsageError, match=r"unknown target 'ful' \(did you mean full\?\).* names full, short"):
        project.resolve("ful")


def test_a_pyproject_without_targets_is_said(project: Any) -> None:
    project.pyproject("[tool.other]\n")
    with pytest.raises(UsageError, match=r"has no \[tool.faultinject.targets\]"):
        project.resolve("anything")


def test_a_broken_import_of_an_argument_keeps_its_traceback(project: Any) -> None:
    module = project.write("broken", "1 / 0\n")
    project.pyproject(
        f'[tool.faultinject.targets.t]\ncallable = "MODULE:Plain.Inner"\nargs = ["@{module}:f"]\n'
    )
    with pytest.raises(TargetError, match="raised ZeroDivisionError") as caught:
        project.resolve("t")
    assert "1 / 0" in caught.value.original
