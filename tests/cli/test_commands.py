"""Every command, its exit status, and what it writes where."""

from __future__ import annotations

import re
import shlex
import shutil

import pytest

from tests.cli._command import Command, verdicts

PAIRED = """
import contextlib, os, threading

class Pipe:
    def __init__(self):
        self.ends = os.pipe()
    def close(self):
        for end in self.ends:
            os.close(end)

class Paired:
    def __init__(self):
        self.one = Pipe()
        self.two = None
        try:
            self.two = Pipe()
            os.getppid()
        except BaseException:
            with contextlib.suppress(BaseException):
                self.close()
            raise
    def close(self):
        if self.two is not None:
            self.two.close()
        self.one.close()

class Patient:
    def __init__(self):
        self.one = Pipe()
        try:
            os.getppid()
        except BaseException:
            thread = threading.Thread(target=quietly, args=(self.one.close,), daemon=True)
            thread.start()
            thread.join(0.5)
            raise
    def close(self):
        self.one.close()

def quietly(call):
    with contextlib.suppress(BaseException):
        call()
"""
QUICK = ("--fault", "RuntimeError", "--jobs", "1")
SWEEP = ("sweep", "light:Light", "--release", "close", *QUICK)


def test_a_sweep_exits_by_what_it_found(command: Command) -> None:
    for target, arguments, status in (("Light", (), 1), ("Light", ("--exit-zero",), 0), ("Clean", (), 0)):
        done = command.run("sweep", f"light:{target}", *QUICK, *arguments)
        assert done.returncode == status, done.stderr
        assert done.stderr == ""
    assert command.left() == []


def test_quiet_prints_the_last_sentence_only(command: Command) -> None:
    done = command.run(*SWEEP, "--quiet")
    lines = done.stdout.strip().splitlines()
    assert lines[0].startswith("faultinject found 2 violations in 4 cases of light:Light")
    assert len(lines) <= 3


@pytest.mark.parametrize(
    "environment", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["piped", "NO_COLOR", "dumb"]
)
def test_output_that_is_no_terminal_holds_no_escape_codes(
    command: Command, environment: dict[str, str]
) -> None:
    done = command.run(*SWEEP, **environment)
    assert "\x1b" not in done.stdout + done.stderr
    assert "replay" in done.stdout


def test_faults_and_probes_are_listed(command: Command) -> None:
    faults = command.run("faults")
    assert faults.returncode == 0
    assert {"RuntimeError", "KeyboardInterrupt", "OSError:ENOSPC", "SIGINT"} <= {
        line.split()[0] for line in faults.stdout.splitlines()
    }
    probes = command.run("probes")
    assert probes.returncode == 0
    assert "fds" in probes.stdout
    assert "absent: " in probes.stdout


def test_discover_prints_what_is_owned(command: Command) -> None:
    done = command.run("discover", "light:Light", "--release", "close", "--points")
    assert done.returncode == 0, done.stderr
    assert "+1 fds" in done.stdout
    assert "getppid" in done.stdout
    assert command.left() == []


DERIVED = """
import light

class Derived(light.Light):
    def __init__(self):
        super().__init__()
"""


def test_own_frames_are_named_for_every_command(command: Command) -> None:
    command.write("derived.py", DERIVED)
    target, own = ("derived:Derived", "--release", "close"), ("--own", "light:Light.__init__")
    assert "1 step, 2 fault points" in command.run("discover", *target).stdout
    assert "4 steps, 6 fault points" in command.run("discover", *target, *own).stdout
    swept = command.run("sweep", *target, *own, *QUICK, "--json", "report.json")
    assert swept.returncode == 1
    case = next(case for case in command.report()["cases"] if case["violation"])
    assert case["charged_to"] == "light:Light.__init__"
    assert command.run("replay", case["id"]).returncode == 1
    assert command.run("replay", case["id"], "--target", *target, *own, *QUICK[:2]).returncode == 1
    assert command.run("replay", case["id"], "--target", *target, *QUICK[:2]).returncode == 2
    matrix = command.directory / "matrices" / "derived-Derived.toml"
    for given, seen in (((), False), (own, True)):
        done = command.run("matrix", *target, *given, "--no-sweep")
        assert done.returncode == 0, done.stderr
        assert ('callee = "posix:open"' in matrix.read_text()) == seen


def test_a_matrix_is_written_once_and_then_stays_as_it_is(command: Command) -> None:
    arguments = ("matrix", "light:Light", "--release", "close", "--fault", "RuntimeError")
    first = command.run(*arguments)
    assert first.returncode == 0, first.stderr
    path = command.directory / "matrices" / "light-Light.toml"
    written = path.read_text()
    assert "leak" in written
    second = command.run(*arguments)
    assert second.returncode == 0, second.stderr
    assert path.read_text() == written
    assert "nothing changed" in second.stdout


def test_a_case_of_the_last_sweep_is_replayed_by_its_id(command: Command) -> None:
    command.run(*SWEEP)
    report = command.report(".faultinject/last.json")
    leak = next(case["id"] for case in report["cases"] if case["violation"])
    done = command.run("replay", leak)
    assert done.returncode == 1, done.stderr
    assert leak in done.stdout
    assert "leak" in done.stdout
    clean = next(identifier for identifier, verdict in verdicts(report).items() if verdict == "clean")
    named = command.run(
        "replay", clean, "--target", "light:Light", "--release", "close", "--fault", "RuntimeError"
    )
    assert named.returncode == 0, named.stderr
    assert clean in named.stdout
    assert command.left() == []


def test_the_command_of_a_report_needs_no_earlier_sweep(command: Command) -> None:
    odd = ("--times", "0", "--cleanup", "--level", "stacks", "--depth", "6", "--fault", "OSError:EPIPE")
    quick = ("--settle", "0.05", "--jobs", "1", "--repeats", "1")
    command.run("sweep", "light:Light", "--release", "close", *odd, *quick, "--report", "markdown:out.md")
    told = re.search(r"`(faultinject replay ([0-9a-f]+) [^`]+)`", (command.directory / "out.md").read_text())
    assert told is not None
    shutil.rmtree(command.directory / ".faultinject")
    again = command.run(*shlex.split(told[1])[1:])
    assert again.returncode == 1, again.stderr
    assert f"case {told[2]}: " in again.stdout


def test_second_faults_are_swept_resumed_replayed_and_written(command: Command) -> None:
    command.write("paired.py", PAIRED)
    sweep = ("sweep", "paired:Paired", "--release", "close", *QUICK, "--second")
    done = command.run(*sweep, "--second-faults", "RuntimeError", "--json", "report.json")
    assert done.returncode == 1, done.stderr
    assert "Second faults" in done.stdout
    cases = command.report("report.json")["cases"]
    leak = next(
        case for case in cases if case["violation"] and case["second"] == "two.close/before/RuntimeError"
    )
    again = command.run("replay", leak["id"])
    assert again.returncode == 1, again.stderr
    assert "RuntimeError, then RuntimeError before two.close" in again.stdout
    assert "second fault before two.close" in again.stdout
    named = ("replay", leak["id"], "--target", "paired:Paired", "--release", "close")
    assert command.run(*named).returncode == 2
    assert command.run(*named, "--second").returncode == 1
    resumed = command.run(*sweep, "--second-faults", "RuntimeError", "--resume", "report.json")
    assert resumed.returncode == 1, resumed.stderr
    assert {c["id"] for c in command.report("report.json")["cases"]} == {c["id"] for c in cases}
    written = command.run(
        "matrix", "paired:Patient", "--release", "close", *QUICK, "--second", "--matrices", "m"
    )
    assert written.returncode == 0, written.stderr
    assert "[[second]]" in (command.directory / "m" / "paired-Patient.toml").read_text()
    assert command.left() == []


def test_a_second_fault_that_is_none_is_said_in_one_line(command: Command) -> None:
    done = command.run(*SWEEP, "--second", "--second-faults", "RuntimError")
    assert done.returncode == 2
    assert done.stderr.startswith("faultinject: unknown fault 'RuntimError'")
    assert len(done.stderr.splitlines()) == 1


def test_a_replayed_id_that_does_not_exist_is_said_in_one_line(command: Command) -> None:
    command.run(*SWEEP)
    done = command.run("replay", "00000000")
    assert done.returncode == 2
    assert "00000000" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_of_the_pipe_that_goes_away_is_no_error(command: Command) -> None:
    process = command.start(*SWEEP)
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (1, 141), "the verdict's own status, or that of a broken pipe"
    assert "Traceback" not in errors
    assert command.left() == []
