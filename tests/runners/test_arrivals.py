"""A signal that arrives at an instruction is handled at the interpreter's next check, as in life."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultinject.facts import CaseResult
from tests.sweep._collected import swept

SOURCE = """
import os, signal

def helper():
    return 1

class Made:
    def __init__(self):
        self.number = 1

class Tells:
    def __init__(self):
        self.before = signal.signal(signal.SIGINT, self._tell)
        self.one = helper()
        self.two = os.getppid()
        self.three = Made()
        for _ in (1, 2):
            pass
        self.four = None

    def _tell(self, number, frame):
        signal.signal(signal.SIGINT, self.before)
        raise KeyboardInterrupt(f"{frame.f_code.co_qualname}, called by {frame.f_back.f_code.co_qualname}")

    def close(self):
        signal.signal(signal.SIGINT, self.before)

class Writes:
    made = 0

    def __init__(self):
        Writes.made += 1
        self.file = open("closed", "a")
        self.number = self.name = Writes.made

    def close(self):
        self.file.write(f"{os.getpid()}:{self.number}\\n")
        self.file.close()

class Awaits:
    def close(self):
        pass

async def awaits():
    import asyncio
    await asyncio.sleep(0)
    return Awaits()
"""


@pytest.fixture(params=["fork", "zygote"])
def runner(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "arrivals_here.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def arrive(directory: Path, target: str, runner: str, fault: str = "SIGINT") -> list[CaseResult]:
    """Sweep every instruction; the results in the order of the lines."""
    collected = swept(
        directory, f"arrivals_here:{target}", level="opcodes", faults=(fault,), runner=runner, confirm="none"
    )
    return sorted(collected.results.values(), key=lambda result: (result.point.line, result.point.callee))


def at_line(results: list[CaseResult], text: str) -> dict[str, CaseResult]:
    number = next(n for n, line in enumerate(SOURCE.splitlines(), 1) if line.strip() == text)
    return {result.point.callee: result for result in results if result.point.line == number}


def test_the_handler_gets_the_frame_that_the_interpreter_was_to_run(directory: Path, runner: str) -> None:
    results = arrive(directory, "Tells", runner)

    told = {result.exception for result in results if result.exception.startswith("KeyboardInterrupt: ")}
    assert {one.partition(": ")[2].partition(",")[0] for one in told} >= {
        "helper", "Tells.__init__", "Made.__init__",
    }  # fmt: skip
    # A Python function checks as it begins, and a C function's call when it has ended.
    assert "KeyboardInterrupt: helper, called by Tells.__init__" in told
    before = at_line(results, "self.one = helper()")
    assert before["CALL"].exception == "KeyboardInterrupt: helper, called by Tells.__init__"
    assert before["STORE_ATTR"].exception.startswith("KeyboardInterrupt: Tells.__init__, called by ")
    between = at_line(results, "self.two = os.getppid()")
    assert between["STORE_ATTR"].exception == "KeyboardInterrupt: Made.__init__, called by Tells.__init__"
    loop = at_line(results, "pass")
    assert {name for name in loop if name.startswith("JUMP_BACKWARD")}
    assert all(one.exception.startswith("KeyboardInterrupt: Tells.__init__") for one in loop.values())


def test_a_signal_after_the_last_check_is_the_callers_who_gets_the_result(
    directory: Path, runner: str
) -> None:
    results = arrive(directory, "Writes", runner)

    late = [*at_line(results, "self.number = self.name = Writes.made").values()]
    assert len(late) > 4
    assert {(one.verdict, one.violation, one.exception) for one in late} == {("clean", False, "")}
    assert all("the target had returned" in note for one in late for note in one.notes)
    assert all(one.notes for one in late)
    early = at_line(results, 'self.file = open("closed", "a")')
    assert early["CALL"].notes == ()
    # Each case that was handed the result, the first of its process, gave it back; recordings did so too.
    closed = (directory / "closed").read_text().split()
    assert len({one for one in closed if one.endswith(":1")}) > len(late)


def test_a_signal_that_an_event_loop_takes_is_nobodys(directory: Path) -> None:
    results = arrive(directory, "awaits", "zygote")

    suspended = [result for result in results if any("asyncio" in note for note in result.notes)]
    assert suspended
    assert {result.verdict for result in suspended} == {"clean"}


def test_without_a_handler_the_kernel_ends_the_process_at_the_instruction(
    directory: Path, runner: str
) -> None:
    results = arrive(directory, "Writes", runner, "SIGTERM")

    assert {(result.verdict, result.violation) for result in results} == {("crash", False)}


def test_an_exception_can_still_come_where_no_signal_is_ever_handled() -> None:
    root = Path(__file__).resolve().parents[2]
    chosen = {"level": "opcodes", "confirm": "none", "runner": "fork", "release": "close"}

    raised = swept(root, "tests.corpus.arrivals:Airtight", faults=("KeyboardInterrupt",), **chosen)
    arrived = swept(root, "tests.corpus.arrivals:Airtight", faults=("SIGINT",), **chosen)

    assert raised.summary is not None
    assert arrived.summary is not None
    assert raised.summary.violations > 0
    assert arrived.summary.violations == 0
