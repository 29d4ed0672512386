"""A block in the body of a test is the target."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.pytest_plugin.conftest import Project

BLOCKS = """\
import os
import pytest
import client
import unrelated

pytestmark = pytest.mark.faultinject(repeats=1)

def test_leaves(fault_sweep, tmp_path):
    (tmp_path / "made once").mkdir()
    with fault_sweep():
        os.getpid()
    with fault_sweep() as sweep:
        made = client.Client()
    made.close()

def test_gives_back(fault_sweep, capfd):
    with fault_sweep() as sweep:
        print("in the block")
        made = client.Sound()
    made.close()
    assert capfd.readouterr().out == "in the block\\n"
    mine = [r for r in sweep.results if r.point.caller == "client:Sound.__init__"]
    assert mine and not any(r.violation for r in mine)
    assert {(r.phase, r.point.line) for r in mine if "greet" in r.point.callee} == {("before", 22),
    ("after", 22)}

def test_what_stays_once_per_process_is_no_leak(fault_sweep):
    with fault_sweep() as sweep:
        client.cached()
        os.getpid()
    assert sweep.summary.violations == 0

def test_fails_by_itself(fault_sweep):
    with fault_sweep():
        client.Client()
        raise ValueError("by itself")

async def in_a_coroutine(fault_sweep):
    with fault_sweep():
        pass

def test_in_a_coroutine(fault_sweep):
    with pytest.raises(pytest.fail.Exception, match="the block cannot be swept"):
        in_a_coroutine(fault_sweep).send(None)

def test_swallows(fault_sweep):
    with fault_sweep() as sweep:
        try:
            client.fails_politely()
        except RuntimeError:
            pass
    assert sweep.summary.violations == 0
    assert any(r.handled_by.endswith(":test_swallows") for r in sweep.results)
"""

SOUND = """

class Sound(Client):
    def __init__(self):
        self.inbox, self.outbox = os.pipe()
        try:
            self.greet()
        except BaseException:
            self.close()
            raise


KEPT = []


def cached():
    if not KEPT:
        KEPT.append(os.pipe())


def fails_politely():
    os.getppid()
"""


@pytest.mark.timeout(240)
def test_a_block_is_swept_before_it_runs_and_only_the_leak_in_it_fails(project: Project) -> None:
    project.write("client.py", (project.path / "client.py").read_text() + SOUND)
    lines = (project.path / "client.py").read_text().splitlines()
    assert "self.greet()" in lines[21]
    project.write("unrelated.py", "try:\n    pass\nexcept KeyError:\n    print()\n")
    project.write("test_client.py", BLOCKS)
    result = project.run("--faultinject-cov", "--faultinject-faults=RuntimeError")
    text = result.stdout.str()
    assert result.parseoutcomes() == {"passed": 4, "failed": 2}, text
    assert "E   1. leak, 2 cases: Client.__init__ has no handler around line 8 that releases fds" in text
    assert ">     8          self.greet()" in text
    assert "E       ValueError: by itself" in text or "E           ValueError: by itself" in text
    # Its modules are those of the project: nothing of the standard library, or of an installed package.
    covered = re.findall(r"^(\S+) +\d+ of +\d+ +\d+%$", text, re.M)
    assert covered == ["client.py", "test_client.py", "TOTAL"]
    assert "never" not in text[text.index("client.py  ") : text.index("test_client.py  ")]
    (again,) = re.findall(r"Run this case alone: pytest (.*)", text)
    words = shlex.split(again)
    assert words[0] == "test_client.py::test_leaves"
    assert words[-1] == "--faultinject-faults=RuntimeError"
    # The first block of the test has no such case: it only runs.
    alone = project.run(*words)
    alone.assert_outcomes(failed=1)
    alone.stdout.fnmatch_lines(["1 violation in 1 case of the block"])
    assert project.left() == []


WRONG = """\
import pytest

@pytest.mark.faultinject(faults="client:Missing")
def test_of_a_fault_that_is_not_there(fault_sweep):
    with fault_sweep():
        open("client.py").close()

@pytest.mark.faultinject(level="opcodes")
def test_at_a_level_that_blocks_lack(fault_sweep):
    with fault_sweep():
        open("client.py").close()

@pytest.mark.faultinject(faults="RuntimeError")
def test_without_that_case(fault_sweep):
    with fault_sweep() as sweep:
        open("client.py").close()
    assert sweep.results == []
"""


def test_what_is_wrong_with_a_block_is_said_in_a_line_and_a_case_that_none_has_at_the_end(
    project: Project,
) -> None:
    project.write("test_client.py", WRONG)
    result = project.run("--faultinject-case=0123456789abcdef0")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "E   the block cannot be swept",
            "E     *Missing*",
            "E     there is no level opcodes of a block: *",
            "no block that ran has a case 0123456789abcdef0",
        ]
    )
    assert "faultinject/" not in result.stdout.str()
