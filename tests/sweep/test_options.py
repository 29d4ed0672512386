from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from faultinject.cli import app
from faultinject.errors import UsageError
from faultinject.sweep import Options
from faultinject.targets import TargetSpec


def test_the_command_that_replays_a_case_names_only_what_is_not_usual(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    usual = Options(target=TargetSpec("a:B", directory="."))
    assert usual.replay("645c16f2") == "faultinject replay 645c16f2 --target a:B"
    other = Options(
        target=TargetSpec("a:B", "close", str(tmp_path / "sub"), ("a:*",)), level="sites",
        faults=("OSError:EPIPE", "ValueError"), second=True, second_faults=("hang",),
    )  # fmt: skip
    assert other.replay("645c16f2") == (
        "faultinject replay 645c16f2 --target a:B --release close --own 'a:*' --level sites "
        "--fault OSError:EPIPE,ValueError --second --second-faults hang --directory sub"
    )


def test_the_command_that_replays_a_case_can_be_parsed() -> None:
    import typer.main

    options = Options(target=TargetSpec("a:B", "close", "/else where", ("a:*",)), level="sites", second=True)
    program, command, *words = shlex.split(options.replay("645c16f2"))
    assert (program, command) == ("faultinject", "replay")
    group = typer.main.get_command(app)
    with group.commands["replay"].make_context("replay", words) as context:  # type: ignore[attr-defined]
        assert (context.params["identifier"], context.params["level"]) == ("645c16f2", "sites")
        assert context.params["directory"].name == "else where"


@pytest.mark.parametrize("repeats", [0, 6])
def test_as_many_runs_must_agree_as_can(repeats: int) -> None:
    with pytest.raises(UsageError, match=f"repeats is {repeats}: give a number from 1 to 5"):
        Options(target=TargetSpec("asked:Client"), repeats=repeats)
