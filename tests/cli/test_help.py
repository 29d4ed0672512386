"""What the command line says of itself: examples that are such, and what a shell offers."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import version
from typing import Any

import pytest
import typer.main

from faultinject.cli import app
from tests.cli._command import LIGHT, Command

GROUP: Any = typer.main.get_command(app)
EXAMPLES = [
    (name, example)
    for name, command in GROUP.commands.items()
    for example in re.findall(r"^(?:Example: |  )(faultinject .*)$", inspect.cleandoc(command.help), re.M)
]


@pytest.mark.parametrize("name", GROUP.commands)
def test_every_command_shows_how_it_is_called(name: str) -> None:
    assert [example for command, example in EXAMPLES if command == name]


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_every_example_can_be_parsed(name: str, example: str) -> None:
    program, command, *arguments = shlex.split(example)
    assert (program, command) == ("faultinject", name)
    with GROUP.commands[name].make_context(name, arguments) as context:
        options = context.params
    if "fault" in options:
        from faultinject.cli._options import make_options

        known = inspect.signature(make_options).parameters
        for key in ("target", "target_a", "target_b"):
            if options.get(key):
                make_options(
                    options[key], **{k: v for k, v in options.items() if k in known and k != "target"}
                )


def test_an_example_with_a_wrong_option_would_be_found() -> None:
    with pytest.raises(Exception, match="No such option"):
        GROUP.commands["sweep"].make_context("sweep", ["a:B", "--fualt", "x"])


@pytest.mark.parametrize("name", GROUP.commands)
def test_help_shows_its_examples_each_on_a_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with GROUP.commands[name].make_context(name, [], resilient_parsing=True) as context:
        context.terminal_width = 200
        shown = context.get_help() or capsys.readouterr().out
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    for command, example in EXAMPLES:
        if command == name and len(example) < 70:
            assert [line for line in lines if line.removeprefix("Example: ") == example], example


def shown_at_80_columns(name: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> list[str]:
    monkeypatch.setenv("COLUMNS", "80")
    with GROUP.commands[name].make_context(name, [], resilient_parsing=True) as context:
        shown = context.get_help() or capsys.readouterr().out
    return [line.strip() for line in shown.splitlines()]


@pytest.mark.parametrize("name", GROUP.commands)
def test_a_paragraph_of_the_help_keeps_its_lines_on_a_screen_of_80_columns(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown_at_80_columns(name, monkeypatch, capsys)
    # What runs on is wrapped as one; of more lines each stands for itself.
    for paragraph in inspect.cleandoc(GROUP.commands[name].help).split("\n\n")[1:]:
        if "\n" in paragraph:
            assert [line for line in map(str.strip, paragraph.splitlines()) if line not in lines] == []


def test_brackets_in_the_help_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = " ".join(shown_at_80_columns("sweep", monkeypatch, capsys))
    assert "[tool.faultinject.targets]" in text


def test_version_is_the_packages(command: Command) -> None:
    done = command.run("--version")
    assert done.returncode == 0
    assert re.fullmatch(rf"faultinject {re.escape(version('faultinject'))} \(Python [\d.]+\)\n", done.stdout)


@pytest.fixture
def shell(command: Command) -> Command:
    """A directory with a project, in which ``faultinject`` is on PATH."""
    program = command.directory / "bin" / "faultinject"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m faultinject "$@"\n')
    program.chmod(0o755)
    command.environment["PATH"] = f"{program.parent}:{os.environ['PATH']}"
    command.write("light.py", LIGHT)
    command.write(
        "pyproject.toml",
        '[tool.faultinject.targets.little-light]\ncallable = "light:Light"\nrelease = "close"\n',
    )
    return command


def offered(shell: Command, line: str) -> list[str]:
    """What bash offers at the end of a line."""
    words = line.split(" ")
    done = shell.run(_FAULTINJECT_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1))
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


def test_commands_options_and_their_values_are_offered(shell: Command) -> None:
    assert offered(shell, "faultinject sw") == ["sweep"]
    assert offered(shell, "faultinject sweep li") == ["little-light"]
    assert "--fault" in offered(shell, "faultinject sweep little-light --fau")
    assert offered(shell, "faultinject sweep little-light --level st") == ["steps", "stacks"]
    assert offered(shell, "faultinject sweep little-light --fault RuntimeError,Keyb") == [
        "RuntimeError,KeyboardInterrupt"
    ]
    assert offered(shell, "faultinject sweep little-light --report ht") == ["html:"]
    assert offered(shell, "faultinject sweep little-light --probe thr") == ["threads"]


def test_cases_of_the_last_sweep_are_offered_and_nothing_where_there_was_none(shell: Command) -> None:
    assert offered(shell, "faultinject replay ") == []
    assert (
        shell.run("sweep", "little-light", "--fault", "RuntimeError", "--repeats", "1", "-q").returncode == 1
    )
    first = offered(shell, "faultinject replay ")
    assert re.fullmatch(r"[0-9a-f]{8}", first[0])
    shell.write(".faultinject/last.json", "{")
    assert offered(shell, "faultinject replay ") == []
    shell.write("pyproject.toml", "[tool")
    assert "little-light" not in offered(shell, "faultinject sweep ")


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("bash", "complete -o default -F _faultinject_completion faultinject"),
        ("zsh", "#compdef faultinject"),
        ("fish", "complete --command faultinject"),
    ],
)
def test_each_shell_gets_a_script_that_asks_us(shell: Command, name: str, begins: str) -> None:
    done = shell.run(_FAULTINJECT_COMPLETE=f"source_{name}")
    assert done.returncode == 0, done.stderr
    assert begins in done.stdout
    assert f"_FAULTINJECT_COMPLETE=complete_{name}" in done.stdout
    if shutil.which(name):
        script = shell.directory / "script"
        script.write_text(done.stdout)
        subprocess.run([name, "-n", str(script)], check=True, stdin=subprocess.DEVNULL)


def test_zsh_and_fish_are_offered_the_same(shell: Command) -> None:
    zsh = shell.run(_FAULTINJECT_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS="faultinject sweep --level st")
    assert '"steps"' in zsh.stdout
    assert '"stacks"' in zsh.stdout
    fish = shell.run(
        _FAULTINJECT_COMPLETE="complete_fish", _TYPER_COMPLETE_FISH_ACTION="get-args",
        _TYPER_COMPLETE_ARGS="faultinject sweep --level st", _TYPER_COMPLETE_WORD_TO_COMPLETE="st",
    )  # fmt: skip
    assert fish.stdout.split() == ["steps", "stacks"]


def test_bash_itself_completes_with_the_script(shell: Command) -> None:
    source = shell.run(_FAULTINJECT_COMPLETE="source_bash").stdout
    (shell.directory / "script").write_text(source)
    done = subprocess.run(
        ["bash", "-c", ". ./script; COMP_WORDS=(faultinject disc); COMP_CWORD=1;"
         ' _faultinject_completion faultinject; echo "${COMPREPLY[@]}"'],
        cwd=shell.directory, env=shell.environment, text=True, capture_output=True, check=True,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.stdout.strip() == "discover"
