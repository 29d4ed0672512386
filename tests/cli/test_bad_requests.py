"""A request that cannot be carried out: one clear line that says what to do, status 2."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli._command import Command, one_line

CASES = [
    (["--fault", "RuntimeErorr"], ["unknown fault 'RuntimeErorr'", "RuntimeError", "faultinject faults"]),
    (["--fault", "OSError:ENOSPACE"], ["ENOSPACE", "ENOSPC"]),
    (["--fault", "light.Nothing"], ["light.Nothing"]),
    (["--fault", "light.Light"], ["not an exception class"]),
    (["--fault", ""], ["names no fault", "faultinject faults"]),
    (["--probe", "fdz"], ["unknown probe 'fdz'", "fds"]),
    (["--without-probe", "fdz"], ["unknown probe 'fdz'"]),
    (["--level", "stepz"], ["unknown level 'stepz'", "steps, sites"]),
    (["--phases", "during"], ["unknown phase 'during'", "before, after"]),
    (["--runner", "thread"], ["unknown runner 'thread'", "auto, fork, zygote, spawn"]),
    (["--confirm", "maybe"], ["unknown --confirm 'maybe'", "auto, each, class, none"]),
    (["--backend", "magic"], ["no backend 'magic'"]),
    (["--backend", "patching", "--patch", "os:gone"], ["--patch os:gone"]),
    (["--ignore", "fds"], ["--ignore fds", "probe:key"]),
    (["--own", "light:Base.*"], ["own frame 'light:Base.*' fits no frame"]),
    (["--own", " "], ["--own is empty", "module:qualname"]),
    (["--wrong"], ["No such option: --wrong", "--help"]),
    (["--jobs", "many"], ["--jobs", "integer"]),
    (["--seed", "9" * 400], ["--seed", "1000000000"]),
    (["--times", "9" * 30], ["--times", "1000000000"]),
    (["--settle", "1e400"], ["--settle", "1000000000"]),
    (["--deadline", "nan"], ["--deadline", "0"]),
    (["--name", "*nothing*"], ["--name *nothing* fits none of 4 fault points"]),
    (["--name", "opne"], ["--name opne fits none", "near", "open"]),
    (["--module", "posixx"], ["--module posixx fits none", "near: posix"]),
    (["--stack-has", "Lihgt"], ["--stack-has Lihgt fits none"]),
    (["--name", "open", "--exclude-name", "open"], ["no"]),
    (["--json", "gone/report.json"], ["cannot write the report gone/report.json"]),
    (["--resume", "gone.json"], ["cannot read the report gone.json"]),
    (["--matrices", "gone"], ["cannot read the matrix gone/light-Light.toml"]),
]


@pytest.mark.parametrize(
    ("arguments", "words"), CASES, ids=[" ".join(arguments)[:40] for arguments, _ in CASES]
)
def test_a_wrong_option_is_said_in_one_line(command: Command, arguments: list[str], words: list[str]) -> None:
    done = command.run("sweep", "light:Light", *arguments)
    assert done.returncode == 2, done.stdout
    line = one_line(done.stderr)
    assert all(word in line for word in words), line
    assert "Traceback" not in done.stderr
    assert command.left() == []


def test_a_missing_target_and_an_unknown_command_are_said_in_one_line(command: Command) -> None:
    for arguments, words in (
        (["sweep"], "Missing argument 'TARGET'"),
        (["swep", "light:Light"], "No such command 'swep'"),
        (["replay", "abcdef01"], "no sweep was made in this directory"),
        (["replay", "abcdef01", "--target", "light:Light"], "abcdef01"),
        (["replay", "abcdef01", "--times", "2"], "belong to --target"),
    ):
        done = command.run(*arguments)
        assert done.returncode == 2
        assert words in one_line(done.stderr)


def test_no_command_at_all_shows_what_there_is(command: Command) -> None:
    done = command.run()
    assert done.returncode == 2
    for name in ("sweep", "discover", "matrix", "replay", "faults", "probes"):
        assert name in done.stdout + done.stderr


@pytest.fixture
def report(command: Command) -> dict[str, Any]:
    command.run("sweep", "light:Clean", "--json", "report.json", "--jobs", "1")
    return command.report()


def test_a_report_that_cannot_be_gone_on_from_is_said_in_one_line(
    command: Command, report: dict[str, Any]
) -> None:
    text = json.dumps(report)
    for name, broken, target, words in (
        (
            "schema.json",
            text.replace("faultinject-report/1", "faultinject-report/9"),
            "light:Clean",
            "report of schema",
        ),
        ("cut.json", text[: len(text) // 2], "light:Clean", "no whole JSON document"),
        ("other.json", "[1, 2]", "light:Clean", "no faultinject report"),
        ("empty.json", "", "light:Clean", "no whole JSON document"),
        ("target.json", text, "light:Light", "of target light:Clean, not light:Light"),
        (
            "points.json",
            text.replace('"posix:getpid"', '"posix:getsid"'),
            "light:Clean",
            "fault points differ",
        ),
        ("python.json", text.replace('"python": "3.', '"python": "2.'), "light:Clean", "Python 2."),
    ):
        command.write(name, broken)
        done = command.run("sweep", target, "--resume", name)
        assert done.returncode == 2, name
        assert words in one_line(done.stderr)
        assert (command.directory / name).read_text() == broken, "a refused report is not touched"
