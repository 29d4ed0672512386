"""What the three runners see of the same cases, and what they keep a case from doing to the next."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.sweep._collected import Collected, swept

ROOT = Path(__file__).resolve().parents[2]

TARGETS = """
import os, signal, subprocess, sys, threading

def helper(): pass

def start():
    child = subprocess.Popen([sys.executable, "-c", "import subprocess; subprocess.run(['sleep', '600'])"])
    with open(os.environ["CASE_PIDS"], "a") as file:
        print(child.pid, file=file)
    return child

class HangsInItsCleanUp:
    def __init__(self):
        self.child = None
        try:
            helper()
        except BaseException:
            start()
            threading.Event().wait()
            raise

class DiesInItsCleanUp:
    def __init__(self):
        try:
            helper()
        except BaseException:
            os.kill(os.getpid(), signal.SIGSEGV)
            raise

class Screams:
    def __init__(self):
        try:
            helper()
        except BaseException:
            print("z" * 1_000_000)
            raise

class Threads:
    def __init__(self):
        os.getppid()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.stop.wait, daemon=True)
        self.thread.start()
        try:
            helper()
        except BaseException:
            self.close()
            raise
    def close(self):
        self.stop.set()
        self.thread.join()

class Configured:
    def __init__(self, port, host=""):
        helper()
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "run_here.py").write_text(TARGETS)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.faultinject.targets.configured]\ncallable = "run_here:Configured"\nargs = [80]\n'
    )
    return tmp_path


@pytest.mark.parametrize(
    ("target", "release"),
    [
        ("tests.corpus.threads:ForgottenThread", "close"),
        ("tests.corpus.descriptors:ForgottenFd", "close"),
    ],
)
def test_the_three_runners_agree(target: str, release: str) -> None:
    whole = swept(ROOT, target, release=release, runner="zygote").verdicts
    assert any(violation for _, violation in whole.values())
    for runner in ("auto", "spawn"):
        assert swept(ROOT, target, release=release, runner=runner).verdicts == whole


def test_lanes_side_by_side_see_what_one_sees() -> None:
    one = swept(ROOT, "tests.corpus.threads:ForgottenThread", release="close", jobs=1)
    three = swept(ROOT, "tests.corpus.threads:ForgottenThread", release="close", jobs=3)
    assert three.verdicts == one.verdicts


def only(collected: Collected, callee: str) -> set[str]:
    return {r.verdict for r in collected.results.values() if r.point.callee == f"run_here:{callee}"}


@pytest.mark.parametrize("runner", ["fork", "zygote"])
def test_a_case_that_hangs_is_ended_with_everything_beneath_it(
    directory: Path, runner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = directory / "pids"
    monkeypatch.setenv("CASE_PIDS", str(pids))
    collected = swept(directory, "run_here:HangsInItsCleanUp", runner=runner, time_limit=1.0, confirm="none")
    assert only(collected, "helper") == {"hang"}
    started = [int(line) for line in pids.read_text().split()]
    assert started
    assert not [pid for pid in started if os.path.exists(f"/proc/{pid}")]


@pytest.mark.parametrize("runner", ["fork", "zygote", "spawn"])
def test_a_case_that_a_signal_ends_is_a_crash(directory: Path, runner: str) -> None:
    collected = swept(directory, "run_here:DiesInItsCleanUp", runner=runner)
    assert only(collected, "helper") == {"crash"}
    assert any("signal 11" in p.what for r in collected.results.values() for p in r.problems)


def test_what_a_case_prints_stays_small_in_what_is_kept_of_it(directory: Path) -> None:
    collected = swept(directory, "run_here:Screams", runner="zygote")
    assert all(len(repr(result)) < 20_000 for result in collected.told)


def test_cases_move_to_the_zygote_from_the_step_on_in_which_a_thread_comes_to_life(directory: Path) -> None:
    collected = swept(directory, "run_here:Threads", release="close", confirm="none")
    runner = {r.point.callee: r.runner for r in collected.results.values()}
    assert runner["posix:getppid"] == "fork"
    assert runner["run_here:helper"] == "zygote"


@pytest.mark.parametrize("runner", ["auto", "spawn"])
def test_a_target_of_the_pyproject_is_run_by_each(directory: Path, runner: str) -> None:
    collected = swept(directory, "configured", runner=runner)
    assert {verdict for verdict, _ in collected.verdicts.values()} == {"clean"}
    assert len(collected.results) == 2
