"""What becomes of the cases of a marked test, and what a failing one shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from xml.etree import ElementTree

from faultinject.facts import Point
from faultinject.points import PHASES, case_id, point_key
from tests.pytest_plugin.conftest import CLIENT, MARKED, MATRIX, MENDED, Project

GREET = "test_gives_back[Client.__init__:8 Client.greet before RuntimeError]"


def test_a_failing_case_shows_the_users_code_what_is_owned_and_left_and_how_to_run_it_again(
    project: Project,
) -> None:
    project.write("test_client.py", MARKED)
    result = project.run("--junitxml=junit.xml", "--faultinject-durations=2", "-rf")
    result.assert_outcomes(passed=2, failed=2)
    text = result.stdout.str()
    shown = text[text.index("client.py:8: RuntimeError comes in place of Client.greet") :]
    assert ">     8          self.greet()" in shown
    assert re.search(r"fds \(\+2 fds\)  client.py:7 pipe  close +LEFT", shown)
    assert re.search(
        r"fd \d+ -> pipe:\[\d+\] \(fds\), given back only at interpreter exit; from client.py:7", shown
    )
    assert "RuntimeError: injected by faultinject before client:Client.greet (injected)" in shown
    assert re.search(r"^E   leak: \+2 fds: .* not given back before the process ended$", shown, re.M)
    # None of the tool's own frames, nor of pytest's way to them.
    assert not re.search(r"^\S*(faultinject|site-packages|pluggy)/\S*\.py:\d+", text, re.M)
    assert f"FAILED test_client.py::{GREET} - leak: +2 fds" in text
    assert "faultinject: slowest 2 of 4 cases" in text
    assert "beneath the target, no failure: pipe leak, 1 case" in text
    failure = ElementTree.parse(project.path / "junit.xml").find(".//failure")
    assert failure is not None
    assert failure.attrib["message"].startswith("leak: +2 fds")
    replay = shlex.split(re.findall(r"Run this case alone: faultinject (.*)", shown)[0])
    again = subprocess.run(
        [sys.executable, "-m", "faultinject", *replay], cwd=project.path, capture_output=True, text=True
    )
    assert again.returncode == 1, again.stderr
    assert f"case {replay[1]}: before Client.greet" in again.stdout
    assert project.left() == []


def test_what_failed_last_is_run_again_although_the_repair_has_moved_its_line(project: Project) -> None:
    project.write("pytest.ini", "[pytest]\n")
    project.write("test_client.py", MARKED + "\ndef test_other():\n    pass\n")
    first = project.run("-x", "-p", "cacheprovider")
    first.assert_outcomes(passed=2, failed=1)
    first.stdout.fnmatch_lines(["*stopping after 1 failures*"])
    project.write("client.py", MENDED)
    again = project.run("--lf", "-p", "cacheprovider", "-v")
    again.assert_outcomes(passed=1, deselected=again.parseoutcomes().get("deselected", 0))
    again.stdout.fnmatch_lines(["*:12 Client.greet before RuntimeError] PASSED*"])


def test_violations_of_the_committed_matrix_are_expected_where_it_is_the_baseline(project: Project) -> None:
    project.commit_matrix()
    project.write("test_client.py", MARKED)
    project.run("--faultinject-baseline=matrix").assert_outcomes(passed=3, xfailed=2)
    project.write("client.py", MENDED)
    mended = project.run("--faultinject-baseline=matrix", "-k", "greet")
    mended.assert_outcomes(failed=2, deselected=3)
    mended.stdout.fnmatch_lines(["*clean now, but *client-Client.toml still has it as leak*"])


def test_a_committed_matrix_that_is_out_of_date_fails(project: Project) -> None:
    lacks = MATRIX[: MATRIX.index("[[step]]\nnumber = 2")] + (
        '[[step]]\nnumber = 2\ncallee = "client:Client.salute"\nline = 8\n'
        'verdicts = { "before RuntimeError" = "leak" }\n'
    )
    project.commit_matrix(lacks)
    project.write("test_client.py", MARKED)
    result = project.run("--faultinject-budget=2")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "E   client:Client makes no such call any more",
            "*write it anew with `faultinject matrix client:Client --release close --fault RuntimeError`*",
            "E   *client-Client.toml lacks 2 fault points",
            "E       after client:Client.greet #1",
            "E       before client:Client.greet #1",
        ]
    )


LOOKS = """\
import pytest

@pytest.mark.faultinject("client:Client", release="close", faults="RuntimeError", names="greet",
                         phases="before", repeats=1, allow=["leak"])
def test_looks_at_its_case(fault_case):
    assert fault_case.verdict == "leak"
    assert fault_case.point.line == 8
    assert fault_case.fault == "RuntimeError"
    assert fault_case.exception.startswith("RuntimeError: injected")
    assert fault_case.result.owned == ("fds",)
    assert fault_case.observation.left
    assert "leak" in repr(fault_case)

@pytest.mark.faultinject("absent:Client")
def test_of_no_target():
    pass

def test_without_a_mark(fault_case):
    pass
"""


def test_the_body_may_look_at_its_case_and_one_broken_target_leaves_the_others_alone(
    project: Project,
) -> None:
    project.write("test_client.py", LOOKS)
    result = project.run()
    result.assert_outcomes(passed=1, failed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*fault_case needs @pytest.mark.faultinject(target=...) on the test*",
            "E   absent:Client cannot be swept",
            "*no module 'absent' can be imported*",
        ]
    )


def test_what_the_gate_suppresses_is_expected_and_what_has_expired_fails(project: Project) -> None:
    points = {
        phase: Point("steps", phase, "client:Client.__init__", "client:Client.greet", 1) for phase in PHASES
    }
    rows = [
        f'[[suppression]]\nverdict = "leak"\ncharged_to = "client:Client.__init__"\nresources = ["fds"]\n'
        f'cases = ["{case_id("client:Client", points[phase], "RuntimeError")}"]\n'
        f'reason = "it waits"\nowner = "ops"\nexpires = {day}\n'
        for phase, day in {"before": "2999-01-01", "after": "2020-01-01"}.items()
    ]
    head = 'format = 1\ntarget = "client:Client"\nlevel = "steps"\n'
    head += f"points = {[*map(point_key, points.values())]}\n"
    project.write("matrices/client-Client.steps.baseline.toml", "\n".join([head, *rows]))
    project.write("test_client.py", MARKED.replace("repeats=1", 'repeats=1, names="greet"'))
    project.write("pytest.ini", "[pytest]\nfaultinject_baseline = gate\n")
    result = project.run("-rxf")
    result.assert_outcomes(passed=1, failed=1, xfailed=1)
    result.stdout.fnmatch_lines(
        [
            "E   leak: +2 fds*",
            "E   *client-Client.steps.baseline.toml: suppressed until 2020-01-01 (ops): it waits",
            "XFAIL *before RuntimeError* - *it waits (ops, until 2999-01-01): +2 fds*",
        ]
    )
    project.run("--runxfail", "-k", "before").assert_outcomes(failed=1, deselected=2)


NOT_ANY_MORE = """\
import pathlib

READY = pathlib.Path(__file__).with_name("ready")


class Client:
    def __init__(self):
        if not READY.exists():
            self.greet()

    def greet(self):
        pass

    def close(self):
        pass
"""


def test_a_case_that_is_not_reached_is_a_skip_shown_at_the_test(project: Project) -> None:
    project.write("client.py", NOT_ANY_MORE)
    marked = MARKED.replace("repeats=1", 'phases="before", names="greet"')
    project.write(
        "test_client.py", f"import client\n\ndef test_first():\n    client.READY.touch()\n\n{marked}"
    )
    result = project.run("-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(
        ["SKIPPED [[]1[]] test_client.py:8: not-reached: the fault point was not reached*"]
    )


OTHER = """\
def helper():
    try:
        pass
    except KeyError:
        print("never")
"""


def test_clean_up_code_of_which_nothing_ran_counts_and_a_name_of_no_module_is_told(project: Project) -> None:
    project.write("app/__init__.py", "")
    project.write("app/other.py", OTHER)
    calls = "from app import other\n" + CLIENT.replace("self.greet()", "other.helper()", 1)
    project.write("app/client.py", calls)
    project.write(
        "test_client.py",
        MARKED.replace('"client:', '"app.client:').replace('"close"', '"close", names="pipe"'),
    )
    result = project.run("--faultinject-cov=app.o*,app.clientt")
    result.stdout.fnmatch_lines(
        [
            "no module that was loaded is named app.clientt",
            "app/other.py     0 of    1    0%",
            "    never: 5 (except in helper, line 4)",
        ]
    )


KILLS = """\
import os
import signal


class Client:
    def __init__(self):
        self.inbox, self.outbox = os.pipe()
        try:
            self.greet()
        except OSError:
            os.kill(os.getppid(), signal.SIGKILL)
        except BaseException:
            self.close()
            raise

    def greet(self):
        os.write(self.outbox, b"x")

    def close(self):
        os.close(self.inbox)
        os.close(self.outbox)
"""


def test_a_case_that_ends_the_process_that_runs_it_fails_and_the_next_one_runs(project: Project) -> None:
    project.write("client.py", KILLS)
    marked = MARKED.replace(
        'faults="RuntimeError"', 'faults="OSError:EIO,RuntimeError", names="greet", phases="before"'
    )
    project.write("test_client.py", marked)
    result = project.run("--faultinject-runner=zygote", "--faultinject-jobs=1")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*a worker of target client:Client was ended from outside*"])
