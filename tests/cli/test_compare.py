"""``faultinject compare``: exit statuses, the document it writes, and what it prints."""

from __future__ import annotations

import signal

import pytest

from faultinject.reports import COMPARISON_SCHEMA
from tests.cli._command import Command, Gate, one_line

PAIR = '''
import os

class Part:
    """Holds a descriptor if it is told so, and does not give it back when it fails."""
    def __init__(self, held):
        self.fd = os.open(os.devnull, os.O_RDONLY) if held else -1
        configure()
    def close(self):
        if self.fd >= 0:
            os.close(self.fd)

def configure(): pass
def measure(): pass

class Defect:
    def __init__(self):
        self.fd = os.open(os.devnull, os.O_RDONLY)
        configure()
        self.part = Part(True)
    def close(self):
        os.close(self.fd)
        self.part.close()

class Repaired:
    def __init__(self):
        self.fd = os.open(os.devnull, os.O_RDONLY)
        try:
            configure()
            measure()
            self.part = Part(False)
        except BaseException:
            os.close(self.fd)
            raise
    def close(self):
        os.close(self.fd)
        self.part.close()
'''
QUICK = ("--release", "close", "--fault", "RuntimeError", "--jobs", "1", "--repeats", "1")
BETTER = ("compare", "pair:Defect", "pair:Repaired", *QUICK)
WORSE = ("compare", "pair:Repaired", "pair:Defect", *QUICK)


@pytest.fixture(autouse=True)
def _pair(command: Command) -> None:
    command.write("pair.py", PAIR)


def test_the_second_target_decides_the_exit_status(command: Command) -> None:
    for arguments, status in ((BETTER, 0), (WORSE, 1), ((*WORSE, "--exit-zero"), 0)):
        done = command.run(*arguments)
        assert done.returncode == status, done.stderr
        assert done.stderr == ""
    assert command.left() == []


def test_both_matrices_stand_side_by_side_with_a_last_plain_sentence(command: Command) -> None:
    done = command.run(*BETTER)
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    rows = {words[2]: line for line in lines if len(words := line.split()) > 2 and words[1].isdigit()}

    assert "\x1b" not in done.stdout
    assert max(map(len, lines)) <= 100
    assert rows["open"].split()[3:] == ["clean", "(leak)", "clean", "(leak)"]
    assert rows["configure"].split()[3:] == ["leak", "leak", "clean", "clean"]
    # A call that only one of the two makes has a row of its own, where that one makes it.
    alone = next(line for line in lines if "measure" in line)
    assert alone.split() == ["3", "measure", "clean", "clean"]
    assert lines.index(rows["configure"]) < lines.index(alone) < lines.index(rows["Part.__init__"])
    assert "A: 4 violations in 6 cases (leak 5, clean 1)" in lines
    assert "B: no violation in 8 cases (leak 1, clean 7)" in lines
    assert "beneath A: Part.__init__ (leak 1), open (leak 1)" in lines
    assert "beneath B: open (leak 1)" in lines
    assert lines[-1] == "pair:Repaired has no violation at level steps, pair:Defect has 4."


def test_one_document_holds_both_reports(command: Command) -> None:
    done = command.run(*BETTER, "--json", "both.json")
    assert done.returncode == 0, done.stderr
    document = command.report("both.json")
    assert document["schema"] == COMPARISON_SCHEMA
    a, b = document["a"], document["b"]
    assert [a["target"], b["target"]] == ["pair:Defect", "pair:Repaired"]
    assert a["summary"]["violations"] == sum(case["violation"] for case in a["cases"]) == 4
    assert b["summary"]["violations"] == 0
    assert a["points"]
    assert a["environment"]["command"] == b["environment"]["command"] == [*BETTER, "--json", "both.json"]
    assert not list(command.directory.glob(".both*"))


def test_a_case_of_the_second_target_can_be_replayed(command: Command) -> None:
    command.run(*WORSE, "--json", "both.json")
    leak = next(case["id"] for case in command.report("both.json")["b"]["cases"] if case["violation"])
    done = command.run("replay", leak)
    assert done.returncode == 1, done.stderr
    assert leak in done.stdout


def test_what_is_wrong_with_the_request_is_said_in_one_line(command: Command) -> None:
    for arguments, words in (
        (["compare", "pair:Defect"], "Missing argument 'TARGET_B'"),
        (["compare", "pair:Defect", "pair:Repared", *QUICK], "Repared"),
        (["compare", "pair:Defect", "pair:Repaired", "--level", "stpes"], "stpes"),
        ([*BETTER, "--json", "nowhere/both.json"], "cannot write the comparison"),
    ):
        done = command.run(*arguments)
        assert done.returncode == 2
        assert words in one_line(done.stderr)
    assert command.left() == []


WAITS = """
import os

class Waits:
    def __init__(self):
        directory = os.environ["TEST_GATE"]
        with open(f"{directory}/told", "w") as told, open(f"{directory}/gate") as gate:
            told.write("x")
            told.flush()
            gate.read(1)
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_in_the_second_sweep_it_keeps_the_first(
    command: Command, gate: Gate, number: int, status: int
) -> None:
    command.write("waits.py", WAITS)
    process = command.start(
        "compare", "pair:Repaired", "waits:Waits", *QUICK, "--json", "both.json", **gate.environment
    )
    gate.await_target()
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == status, errors
    assert "Traceback" not in errors
    document = command.report("both.json")
    assert document["a"]["summary"]["complete"] is True
    assert document["b"] is None
    assert command.left() == []
