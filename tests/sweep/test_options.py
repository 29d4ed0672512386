from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest

from faultinject.cli import app
from faultinject.cli._options import make_options, with_matrices
from faultinject.errors import UsageError
from faultinject.sweep import Options
from faultinject.targets import TargetSpec

OTHER: dict[str, Any] = {
    "level": "stacks", "depth": 6, "faults": ("OSError:EPIPE", "ValueError"), "times": 0, "second": True,
    "second_faults": ("hang",), "runner": "spawn", "time_limit": 7.5, "settle": 0.25, "deadline": 9.0,
    "backend": "patching", "attributes": ("os:open", "a:B.c"), "include_finalizers": True,
    "include_cleanup": True, "probes": ("fds", "threads"), "without": ("locks",),
    "ignore": ("fds:a b", "fds:*"), "matrices": "my matrices",
}  # fmt: skip
OF_MANY = {"filter", "confirm", "jobs", "repeats", "tries", "cover", "limit", "seed"}
"""Fields that say which cases of a sweep are run and how often: nothing of a single one."""


def replayed(command: str) -> Options:
    """What `faultinject replay` makes of the words of a command line."""
    import typer.main

    program, name, *words = shlex.split(command)
    assert (program, name) == ("faultinject", "replay")
    group = typer.main.get_command(app)
    with group.commands["replay"].make_context("replay", words) as context:  # type: ignore[attr-defined]
        given = {**context.params}
    assert given.pop("identifier") == "645c16f2"
    matrices = given.pop("matrices")
    return with_matrices(make_options(**given), matrices)


def test_the_command_that_replays_a_case_names_only_what_is_not_usual(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    usual = Options(target=TargetSpec("a:B", directory="."), jobs=3, repeats=1, confirm="none", runner="fork")
    assert usual.replay("645c16f2") == "faultinject replay 645c16f2 --target a:B"
    other = Options(
        target=TargetSpec("a:B", "close", str(tmp_path / "sub"), ("a:*",)), level="sites",
        faults=("OSError:EPIPE", "ValueError"), second=True, second_faults=("hang",),
        matrices=str(tmp_path / "matrices"),
    )  # fmt: skip
    assert other.replay("645c16f2") == (
        "faultinject replay 645c16f2 --target a:B --release close --own 'a:*' --level sites "
        "--fault OSError:EPIPE,ValueError --second --second-faults hang --matrices matrices --directory sub"
    )


def test_every_option_that_a_case_depends_on_is_in_the_command_that_replays_it() -> None:
    assert {"target", *OTHER, *OF_MANY} == set(Options.__struct_fields__), "a field is of a case, or of many"
    target = TargetSpec("a:B", "close", "else where", ("a:*", "b:C.*"))
    whole = Options(target=target, **OTHER)
    assert replayed(whole.replay("645c16f2")) == whole
    for name, value in OTHER.items():
        one = Options(target=target, **{name: value})
        again = replayed(one.replay("645c16f2"))
        if name == "second_faults":
            again = msgspec.structs.replace(
                again, second_faults=value
            )  # Without a second fault it says nothing.
        assert again == one, name


@pytest.mark.parametrize("repeats", [0, 6])
def test_as_many_runs_must_agree_as_can(repeats: int) -> None:
    with pytest.raises(UsageError, match=f"repeats is {repeats}: give a number from 1 to 5"):
        Options(target=TargetSpec("asked:Client"), repeats=repeats)


@pytest.mark.parametrize("faults", [("SIGKILL@caller",), ("RuntimeError", "KeyboardInterrupt")])
def test_a_case_of_a_tree_is_replayed_as_one(faults: tuple[str, ...]) -> None:
    tree = Options(target=TargetSpec("a:B", directory=os.curdir), level="milestones", faults=faults)
    assert replayed(tree.replay("645c16f2")) == tree
