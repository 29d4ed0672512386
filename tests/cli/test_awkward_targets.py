"""Targets that misbehave while they are swept: they print, close, fork, exit, and lie."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tests.cli._command import MARK, Command, one_line, verdicts

TARGETS = '''
import gc, os, sys, threading

def helper(): pass

class Prints:
    def __init__(self):
        print("x" * 3_000_000)
        sys.stderr.write("y" * 3_000_000)
        helper()

class ClosesStandardOutput:
    def __init__(self):
        os.close(1)
        helper()

class Forks:
    """The child runs on to the end of the constructor, and would be a second caller of it."""
    def __init__(self):
        helper()
        self.pid = os.fork()
        if self.pid:
            os.waitpid(self.pid, 0)

class ExitsWhenItFails:
    def __init__(self):
        try:
            helper()
        except Exception:
            os._exit(0)

class SaysItClosed:
    """Its release does nothing."""
    def __init__(self):
        self.fd = os.open(os.devnull, os.O_RDONLY)
        helper()
    def close(self): pass

class BlindsTheTool:
    """Leaks a descriptor, and has every look at a directory come back empty."""
    def __init__(self):
        self.fd = os.open(os.devnull, os.O_RDONLY)
        os.listdir = lambda *_: []
        gc.get_objects = lambda *_: []
        gc.collect = lambda *_: 0
        helper()
    def close(self):
        os.close(self.fd)

class TakesTheHook:
    def __init__(self):
        helper()
        sys.setprofile(None)
        monitoring = getattr(sys, "monitoring", None)
        for tool in range(6) if monitoring else ():
            if monitoring.get_tool(tool):
                monitoring.set_events(tool, 0)
        self.fd = os.open(os.devnull, os.O_RDONLY)
        helper()
    def close(self):
        os.close(self.fd)
'''

QUICK = ("--fault", "RuntimeError", "--json", "report.json")


@pytest.fixture
def awkward(command: Command) -> Command:
    command.write("awkward.py", TARGETS)
    return command


def swept(command: Command, target: str, *arguments: str) -> dict[str, str]:
    done = command.run("sweep", f"awkward:{target}", *QUICK, *arguments)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert command.left() == []
    return verdicts(command.report())


def test_what_a_target_prints_is_not_the_reports(awkward: Command) -> None:
    done = awkward.run("sweep", "awkward:Prints", *QUICK)
    assert done.returncode == 0
    assert len(done.stdout) < 10_000
    assert "xxxx" not in done.stdout + done.stderr


def test_a_target_that_closes_standard_output_is_judged_for_it(awkward: Command) -> None:
    assert "wrong-release" in swept(awkward, "ClosesStandardOutput").values()


@pytest.mark.parametrize("runner", ["auto", "zygote", "spawn"])
def test_the_child_of_a_target_that_forks_is_no_second_caller(awkward: Command, runner: str) -> None:
    found = swept(awkward, "Forks", "--runner", runner)
    assert len(found) == 4
    assert set(found.values()) <= {"clean", "leak"}  # the process that `fork` made and nobody was told of


def test_a_target_that_exits_the_process_when_it_fails_is_found(awkward: Command) -> None:
    assert set(swept(awkward, "ExitsWhenItFails").values()) == {"crash"}


def test_a_release_that_only_says_so_excuses_nothing(awkward: Command) -> None:
    assert "leak" in swept(awkward, "SaysItClosed", "--release", "close").values()


def test_a_target_cannot_hide_what_it_left_by_patching_what_the_tool_looks_with(awkward: Command) -> None:
    swept(awkward, "BlindsTheTool", "--release", "close")
    late = [c for c in awkward.report()["cases"] if c["point"]["callee"] == "awkward:helper"]
    assert {case["verdict"] for case in late} == {"leak"}


def test_a_target_that_takes_the_hook_away_is_never_passed(awkward: Command) -> None:
    done = awkward.run("sweep", "awkward:TakesTheHook", "--release", "close", *QUICK)
    if done.returncode == 2:
        assert "hook" in one_line(done.stderr)
        return
    cases = {c["id"]: c for c in awkward.report()["cases"]}.values()
    late = [
        c["verdict"]
        for c in cases
        if c["point"]["callee"] == "awkward:helper" and c["point"]["occurrence"] == 2
    ]
    assert "clean" not in late


def in_small_file_systems(command: Command, script: str) -> subprocess.CompletedProcess[str]:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("mounting needs root and unshare")
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("no mount namespace can be made here")
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", sys.executable], cwd=command.directory, text=True,
        capture_output=True, env={**command.environment, MARK: command.mark}, timeout=60,
    )  # fmt: skip


def test_a_full_temporary_directory_is_said_in_one_line(command: Command) -> None:
    done = in_small_file_systems(
        command,
        'mount -t tmpfs -o size=64k,nr_inodes=3 none "$TMPDIR" || exit 77; '
        '"$1" -m faultinject sweep light:Light --release close',
    )
    if done.returncode == 77:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")
    assert done.returncode == 2, done.stdout
    assert "No space left on device" in one_line(done.stderr)
    assert "Traceback" not in done.stderr


def test_a_full_disk_ends_the_sweep_in_one_line_and_keeps_the_cases_so_far(command: Command) -> None:
    (command.directory / "small").mkdir()
    done = in_small_file_systems(
        command,
        "mount -t tmpfs -o size=8k none small || exit 77; "
        '"$1" -m faultinject sweep light:Light --release close --json small/report.json; status=$?; '
        "cp small/report.json report.json; exit $status",
    )
    if done.returncode == 77:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")
    assert done.returncode == 2, done.stdout
    assert "No space left on device" in one_line(done.stderr)
    assert command.left() == []
    if (command.directory / "report.json").exists():
        assert command.report()["schema"]
