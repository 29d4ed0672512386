"""Beside pytest-xdist, pytest-timeout, pytest-cov, pytest-asyncio, pytest-randomly and
pytest-rerunfailures."""

from __future__ import annotations

import json
import re

import pytest

from tests.pytest_plugin.conftest import MARKED, MENDED, Project

NOTES_WHAT_IS_LOADED = """\
import pathlib
import sys

def pytest_unconfigure(config):
    if not hasattr(config, "workerinput"):
        pathlib.Path("loaded").write_text("\\n".join(sys.modules))
"""


def test_the_process_that_starts_workers_loads_nothing_for_tests_that_ask_for_nothing(
    project: Project,
) -> None:
    project.write("conftest.py", NOTES_WHAT_IS_LOADED)
    project.write("test_plain.py", "def test_plain():\n    pass\n")
    project.run("-n", "1").assert_outcomes(passed=1)
    loaded = (project.path / "loaded").read_text().split()
    ours = {name for name in loaded if name.startswith("faultinject")}
    assert ours == {"faultinject", "faultinject.pytest_plugin", "faultinject.pytest_plugin._xdist"}
    assert not {"msgspec", "rich"} & set(loaded)


def test_what_workers_would_run_is_collected_without_them(project: Project) -> None:
    project.commit_matrix()
    project.write("test_client.py", MARKED)
    result = project.run("-n", "2", "--collect-only", "-q")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*greet before RuntimeError]", "5 tests collected*"])
    assert project.left() == []


LAST = "test_client.py::test_gives_back[Client.__init__:8 Client.greet before RuntimeError]"


def test_a_worker_tells_that_what_failed_last_is_mended_although_its_line_has_moved(project: Project) -> None:
    project.write("pytest.ini", "[pytest]\n")
    project.write("client.py", MENDED)
    project.write("test_client.py", MARKED)
    last = ".pytest_cache/v/cache/lastfailed"
    project.write(last, json.dumps({LAST: True, "test_other.py::test_other": True}))
    project.run("-n", "1", "--lf", "-p", "cacheprovider").assert_outcomes(passed=1)
    assert list(json.loads((project.path / last).read_text())) == ["test_other.py::test_other"]


KILLS_THE_WORKER = """\
import os
import signal


class Client:
    def __init__(self):
        self.inbox, self.outbox = os.pipe()
        try:
            self.greet()
        except OSError:
            os.kill(int(os.environ["WORKER"]), signal.SIGKILL)
        except BaseException:
            self.close()
            raise

    def greet(self):
        os.write(self.outbox, b"x")

    def close(self):
        os.close(self.inbox)
        os.close(self.outbox)
"""


@pytest.mark.timeout(120)
def test_workers_share_the_cases_and_one_that_a_case_kills_is_that_cases_crash(project: Project) -> None:
    project.write("client.py", KILLS_THE_WORKER)
    marked = MARKED.replace('faults="RuntimeError"', 'faults="RuntimeError,OSError:EIO", phases="before"')
    project.write(
        "test_client.py",
        f"import os\nos.environ['WORKER'] = str(os.getpid())\n{marked}\ndef test_other():\n    pass\n",
    )
    result = project.run("-n", "2", "--faultinject-durations=0", "--faultinject-cov")
    result.assert_outcomes(passed=4, failed=1)
    text = result.stdout.str()
    crashed = "Client.__init__:9 Client.greet before OSError:EIO"
    assert f"crash: {crashed} ended the worker of pytest-xdist that ran it" in text
    assert re.search(
        r"Run this case alone: faultinject replay \w+ --target client:Client --release close", text
    )
    assert "replacing crashed worker" in text
    # What the workers saw has come to the process that reports.
    assert "faultinject: slowest 3 of 3 cases" in text
    assert re.search(r"^client.py +2 of +3 +67%$", text, re.M)
    assert "never: 11 (except in Client.__init__, line 10)" in text
    assert project.left() == []


ALL_TOGETHER = """\
import asyncio
import os
import pathlib
import pytest

@pytest.mark.asyncio
@pytest.mark.faultinject("client:Client", release="close", faults="RuntimeError", names="greet", repeats=1)
async def test_in_a_coroutine(fault_case):
    await asyncio.sleep(0)
    assert fault_case.verdict == "clean"

@pytest.mark.faultinject("client:connect", release="close", faults="RuntimeError", phases="before", repeats=1)
def test_of_a_coroutine():
    pass

@pytest.mark.faultinject("leaking:Client", release="close", faults="RuntimeError", names="greet",
                         phases="before", repeats=1)
@pytest.mark.parametrize("number", [1])
def test_that_fails(number, tmp_path):
    assert number == 1

def test_in_a_block(fault_sweep):
    import client
    with fault_sweep() as sweep:
        made = client.Client()
    made.close()
    assert sweep.summary.cases and not sweep.summary.violations
"""


@pytest.mark.timeout(120)
def test_all_the_others_at_once(project: Project) -> None:
    leaking = (project.path / "client.py").read_text()
    project.write("leaking.py", leaking)
    project.write("client.py", MENDED + "\n\nasync def connect():\n    made = Client()\n    return made\n")
    project.write(
        "pytest.ini",
        "[pytest]\nasyncio_default_fixture_loop_scope = function\nfaultinject_faults = KeyError\n",
    )
    project.write("test_client.py", ALL_TOGETHER)
    result = project.run(
        "--cov=client", "--cov-report=term", "--reruns=1", "-p", "randomly", "-p", "no:cacheprovider", "-v",
        "--timeout=100", alone=False,
    )  # fmt: skip
    text = result.stdout.str()
    assert "Using --randomly-seed=" in text
    assert result.parseoutcomes() == {"passed": 4, "failed": 1, "rerun": 1}, text
    # A rerun runs its case again, in a process of its own again.
    assert text.count("leaking.py:8: RuntimeError comes in place of Client.greet") == 1
    assert re.search(r"test_that_fails\[1-.*\] RERUN", text) or re.search(
        r"test_that_fails\[.*-1\] RERUN", text
    )
    assert re.search(r"^client.py +\d+ +\d+ +\d+%", text, re.M)


HANGS = """\
import os
import threading


class Client:
    def __init__(self):
        self.inbox, self.outbox = os.pipe()
        try:
            self.greet()
        except OSError:
            threading.Event().wait()
        except BaseException:
            self.close()
            raise

    def greet(self):
        os.write(self.outbox, b"x")

    def close(self):
        os.close(self.inbox)
        os.close(self.outbox)
"""


@pytest.mark.timeout(120)
def test_pytest_timeout_ends_a_case_and_the_next_one_runs(project: Project) -> None:
    project.write("client.py", HANGS)
    marked = MARKED.replace(
        'faults="RuntimeError"', 'faults="OSError:EIO,RuntimeError", names="greet", phases="before"'
    )
    project.write("test_client.py", marked)
    options = ("--faultinject-runner=zygote", "--faultinject-jobs=1")
    result = project.run(*options, "--timeout=20", "--timeout-method=signal", "--faultinject-time-limit=100")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*Timeout (>20.0s) from pytest-timeout*"])
    # With a limit of its own the case is judged, and shows where it hangs.
    result = project.run(*options, "--faultinject-time-limit=1", "-k", "OSError")
    result.assert_outcomes(failed=1, deselected=1)
    result.stdout.fnmatch_lines(
        ["Where it hung:", '*client.py", line 11 in __init__*', "E   hang: the clean-up did not end*"]
    )
    assert project.left() == []
