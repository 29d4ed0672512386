"""Level ``milestones`` on the command line."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from tests.cli._command import PATIENCE_S, ROOT, Command, one_line, verdicts
from tests.trees._swept import write_target


@pytest.fixture
def command(tmp_path: Path) -> Command:
    made = Command(tmp_path)
    made.environment["PYTHONPATH"] = str(ROOT)
    return made


def test_discover_lists_processes_and_milestones(command: Command) -> None:
    write_target(command.directory)
    done = command.run("discover", "start", "--level", "milestones")
    assert done.returncode == 0, done.stderr
    for line in (
        "caller +process up",
        r"engine +connecting",
        r"worker\[1\] +loading",
        r"worker\[0\] .* Worker-0 +\d",
    ):
        assert re.search(line, done.stdout), done.stdout
    assert command.left() == []


def test_a_sweep_a_report_and_a_replay(command: Command) -> None:
    write_target(command.directory, "no lifeline")
    done = command.run(
        "sweep", "start", "--level", "milestones", "--fault", "SIGKILL@caller,SIGKILL@worker[1]",
        "--name", "callee=loading", "--deadline", "2", "--repeats", "1", "--json", "report.json",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    report = command.report()
    assert sorted(verdicts(report).values()) == ["clean", "clean", "leak", "leak"]
    assert "engine lives on after SIGKILL@caller at worker[0]: loading" in done.stdout
    bad = next(case["id"] for case in report["cases"] if case["verdict"] == "leak")
    again = command.run("replay", bad)
    assert again.returncode == 1, again.stderr
    assert "SIGKILL to caller" in again.stdout
    assert re.search(r"engine \(pid \d+\), state S", again.stdout)
    assert command.left() == []


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (
            "SIGKILL@nobody",
            "no process has the role 'nobody'; there are caller, engine, worker[0], worker[1]",
        ),
        ("SIGHUP@engine", "sent to a process of a tree are SIGKILL, SIGTERM, SIGINT, SIGSTOP"),
        ("SIGSTOP@caller", "a caller that is stopped for ever has nobody to tell; add +2s"),
        ("SIGKILL@engine+2s", "only a process that was stopped can go on"),
        ("nospace:/tmp", "write nospace:/dev/shm"),
        ("portinuse", "write portinuse:any"),
        ("SIGKILL@", "write FAULT@ROLE"),
        ("RuntimError", "did you mean RuntimeError"),
    ],
)
def test_a_wrong_fault_is_one_line(fault: str, said: str, command: Command) -> None:
    write_target(command.directory)
    done = command.run("sweep", "start", "--level", "milestones", "--fault", fault)
    assert done.returncode == 2
    assert said in one_line(done.stderr)
    assert command.left() == []


def test_a_wrong_role_or_milestone_is_one_line(command: Command) -> None:
    (command.directory / "pyproject.toml").write_text(
        '[tool.faultinject.targets.a]\ncallable = "tests.trees.starts:Start"\nroles = { engine = "name:x" }\n'
        '[tool.faultinject.targets.b]\ncallable = "tests.trees.starts:Start"\n'
        'milestones = [{ role = "engine", name = "x", at = "nowhere" }]\n'
    )
    for target, said in (("a", "says not how its process is recognised"), ("b", "is no module:qualname")):
        done = command.run("discover", target, "--level", "milestones")
        assert done.returncode == 2
        assert said in one_line(done.stderr)


def test_a_milestone_whose_function_is_gone_is_told(command: Command) -> None:
    (command.directory / "pyproject.toml").write_text(
        '[tool.faultinject.targets.start]\ncallable = "tests.trees.starts:Late"\n'
        'milestones = [{ role = "caller", name = "x", at = "tests.trees.starts:no_longer" }]\n'
    )
    done = command.run("discover", "start", "--level", "milestones")
    assert "there is no tests.trees.starts:no_longer, so no milestone" in done.stdout


def test_a_sweep_that_is_killed_leaves_nothing(command: Command) -> None:
    write_target(command.directory, "no lifeline")
    process = command.start(
        "sweep", "start", "--level", "milestones", "--fault", "SIGKILL@caller", "--deadline", "60"
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("sweeping start")
    (place,) = {
        Path(os.readlink(f"/proc/{pid}/fd/2")).parent
        for pid in command.processes()
        if b"_conductor" in Path(f"/proc/{pid}/cmdline").read_bytes()
    }
    assert place.exists()
    process.kill()
    process.communicate()
    until = time.monotonic() + PATIENCE_S
    while (command.processes() or place.exists()) and time.monotonic() < until:
        time.sleep(0.02)
    assert command.processes() == []
    assert not place.exists()
    assert command.left() == []
