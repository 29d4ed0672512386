"""Ctrl-C, SIGTERM and SIGKILL at every moment of a sweep."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Callable

import pytest

from tests.cli._command import PATIENCE_S, Command, Gate, verdicts

TARGET = '''
import os, subprocess, tempfile, threading
from multiprocessing.shared_memory import SharedMemory

def pause():
    directory = os.environ.get("TEST_GATE")
    if directory:
        with open(directory + "/told", "wb", 0) as told:
            told.write(b"x")
        with open(directory + "/gate", "rb", 0) as gate:
            gate.read(1)

if os.environ.get("TEST_IMPORT"):
    pause()

def spawn():
    return subprocess.Popen(["sleep", "600"])

def share():
    name = f"{os.environ['FAULTINJECT_TEST_COMMAND']}-{os.getpid()}-{os.urandom(4).hex()}"
    return SharedMemory(name, create=True, size=64)

class Heavy:
    """Holds a process, shared memory and a directory while it waits; gives nothing back when that fails."""
    def __init__(self):
        self.child = spawn()
        self.memory = share()
        self.directory = tempfile.TemporaryDirectory()
        pause()
    def close(self):
        self.directory.cleanup()
        self.memory.close()
        self.memory.unlink()
        self.child.kill()
        self.child.wait()

class Light:
    def __init__(self):
        self.fd = os.open(os.devnull, os.O_RDONLY)
        pause()
    def close(self):
        os.close(self.fd)
'''

HEAVY = ("sweep", "stops:Heavy", "--release", "close", "--jobs", "1", "--fault", "RuntimeError", "--json",
         "report.json", "--settle", "0.05", "--repeats", "2")  # fmt: skip
LIGHT = (*HEAVY[:1], "stops:Light", *HEAVY[2:])

CONSTRUCTIONS_BEFORE_CASES = 4
"""One to see what it imports, two in the first recording, one in the second."""


@pytest.fixture
def stops(command: Command) -> Command:
    command.write("stops.py", TARGET)
    return command


def press_ctrl_c(process: subprocess.Popen[str]) -> None:
    os.killpg(process.pid, signal.SIGINT)


def interrupt_alone(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)


def terminate(process: subprocess.Popen[str]) -> None:
    process.terminate()


def keep_pressing(process: subprocess.Popen[str]) -> None:
    """Ctrl-C again and again, until the sweep is gone."""
    handle = os.pidfd_open(process.pid)
    try:
        while not select.select([handle], [], [], 0.02)[0]:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)
    finally:
        os.close(handle)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=PATIENCE_S)
    return process.returncode, errors


MOMENTS = {
    "its first construction": (HEAVY, 0, press_ctrl_c, 130),
    "a recording": (HEAVY, 1, terminate, 143),
    "the first case": (HEAVY, CONSTRUCTIONS_BEFORE_CASES, interrupt_alone, 130),
    "a later case": (HEAVY, CONSTRUCTIONS_BEFORE_CASES + 3, press_ctrl_c, 130),
    "a later case, terminated": (HEAVY, CONSTRUCTIONS_BEFORE_CASES + 3, terminate, 143),
    "a later case, again and again": (HEAVY, CONSTRUCTIONS_BEFORE_CASES + 3, keep_pressing, 130),
    "the screen": (LIGHT, CONSTRUCTIONS_BEFORE_CASES, press_ctrl_c, 130),
    "the confirmation": (LIGHT, CONSTRUCTIONS_BEFORE_CASES + 1, terminate, 143),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_sweep_stopped_in_the_middle_leaves_nothing_but_its_report(
    stops: Command, gate: Gate, moment: str
) -> None:
    arguments, passages, stop, status = MOMENTS[moment]
    process = stops.start(*arguments, **gate.environment)
    gate.pass_through(passages)
    gate.await_target()
    stop(process)
    code, errors = ended(process)
    assert code == status, errors
    assert "Traceback" not in errors
    assert stops.left() == []
    if passages >= CONSTRUCTIONS_BEFORE_CASES:
        report = stops.report()
        assert report["summary"]["complete"] is False
        assert report["summary"]["cases"] == len(verdicts(report)) < 2 * len(report["points"])


@pytest.mark.parametrize(
    ("stop", "status"), [(press_ctrl_c, 130), (terminate, 143)], ids=["ctrl-c", "sigterm"]
)
def test_a_sweep_stopped_while_it_imports_ends_at_once(
    stops: Command, gate: Gate, stop: Callable[[subprocess.Popen[str]], None], status: int
) -> None:
    process = stops.start(*HEAVY, TEST_IMPORT="1", **gate.environment)
    gate.await_target()
    stop(process)
    assert ended(process)[0] == status
    assert stops.left() == []


@pytest.mark.parametrize(
    ("arguments", "share"),
    [(HEAVY, 0.3), (HEAVY, 0.8), (LIGHT, 0.0), (LIGHT, 0.6)],
    ids=["in its cases", "in its repetitions", "in its screen", "in its confirmation"],
)
def test_a_stopped_sweep_goes_on_to_the_same_end(
    stops: Command, gate: Gate, arguments: tuple[str, ...], share: float
) -> None:
    whole = stops.start(*arguments[:-6], "--json", "whole.json", *arguments[-4:], **gate.environment)
    times = gate.open_for(whole)
    ended(whole)
    expected = verdicts(stops.report("whole.json"))
    stopped = stops.start(*arguments, **gate.environment)
    gate.pass_through(CONSTRUCTIONS_BEFORE_CASES + int((times - CONSTRUCTIONS_BEFORE_CASES) * share))
    gate.await_target()
    press_ctrl_c(stopped)
    assert ended(stopped)[0] == 130
    resumed = stops.run(*arguments[:-6], *arguments[-4:], "--resume", "report.json")
    assert resumed.returncode == 1, resumed.stderr
    assert verdicts(stops.report()) == expected
    assert stops.report()["summary"]["complete"] is True


@pytest.mark.parametrize(
    "passages", [None, 0, 1, CONSTRUCTIONS_BEFORE_CASES], ids=["import", "first", "recording", "case"]
)
def test_when_the_sweep_is_killed_its_processes_end_by_themselves(
    stops: Command, gate: Gate, passages: int | None
) -> None:
    environment = {"TEST_IMPORT": "1"} if passages is None else {}
    process = stops.start(*HEAVY, **gate.environment, **environment)
    gate.pass_through(passages or 0)
    gate.await_target()
    handles = [os.pidfd_open(pid) for pid in stops.processes()]
    try:
        process.kill()
        ended(process)
        for handle in handles:
            assert select.select([handle], [], [], PATIENCE_S)[0], "a process of the sweep goes on without it"
    finally:
        for handle in handles:
            os.close(handle)
    assert not [
        one for one in stops.left() if passages is not None or not one.startswith(str(stops.temporary))
    ]
