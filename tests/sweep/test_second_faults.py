"""Pairs of faults: which are made, and that each runner sees the same of them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from faultinject.facts import Owned, Recording, Step
from faultinject.sweep._plan import class_of, seconds_at, starts_of
from tests.reports._sample import OWNED, RECORDING, point
from tests.sweep._collected import Collected, swept

SOCKET = "socket:socket.__init__"
TARGET = """
import contextlib, os, threading

class Pipe:
    def __init__(self):
        self.ends = os.pipe()
    def close(self):
        ends, self.ends = self.ends, ()
        for end in ends:
            os.close(end)

class Stops:
    def __init__(self):
        self.first = Pipe()
        self.last = None
        try:
            self.last = Pipe()
            self.pid = os.getppid()
        except BaseException:
            with contextlib.suppress(BaseException):
                self.roll_back()
            raise
    def roll_back(self):
        if self.last is not None:
            self.last.close()
        self.first.close()
    close = roll_back

class GoesOn(Stops):
    def __init__(self):
        self.first = Pipe()
        self.last = None
        try:
            self.last = Pipe()
            self.pid = os.getppid()
        except BaseException:
            for one in (self.last, self.first):
                if one is not None:
                    thread = threading.Thread(target=quietly, args=(one.close,), daemon=True)
                    thread.start()
                    thread.join(0.5)
            raise

class Never(Stops):
    def __init__(self):
        self.first = Pipe()
        self.pid = os.getppid()
        self.last = None

def quietly(call):
    with contextlib.suppress(BaseException):
        call()
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "paired.py").write_text(TARGET)
    return tmp_path


def pairs(directory: Path, name: str, **options: object) -> Collected:
    chosen = {"second": True, "second_faults": ("RuntimeError",), **options}
    return swept(directory, f"paired:{name}", release="close", **chosen)


def verdicts(collected: Collected) -> dict[tuple[str, str, str], str]:
    return {
        (r.phase, r.point.callee.partition(":")[2], r.second): r.verdict for r in collected.results.values()
    }


@pytest.mark.parametrize("runner", ["fork", "zygote", "spawn"])
def test_each_runner_sees_a_clean_up_that_stops_at_a_failing_release(directory: Path, runner: str) -> None:
    found = verdicts(pairs(directory, "Stops", runner=runner, confirm="none"))
    assert {second for _, callee, second in found if callee == "getppid"} == {
        "",
        "first.close/before/RuntimeError",
        "first.close/after/RuntimeError",
        "last.close/before/RuntimeError",
        "last.close/after/RuntimeError",
    }
    assert {place[2] for place, verdict in found.items() if place[1] == "getppid" and verdict == "leak"} == {
        "last.close/before/RuntimeError",
        "last.close/after/RuntimeError",
    }


@pytest.mark.parametrize("runner", ["fork", "zygote"])
def test_a_clean_up_that_gives_up_on_a_release_that_hangs_is_clean(directory: Path, runner: str) -> None:
    faults = ("RuntimeError", "KeyboardInterrupt", "hang")
    collected = pairs(directory, "GoesOn", runner=runner, second_faults=faults, confirm="none")
    seen = [r for r in collected.results.values() if r.second]
    # At the end of a call nothing more is owned than before it: that would be the same pairs again.
    assert {r.phase for r in seen} == {"before"}
    assert len(seen) == 5 + 10
    # A pipe that fails at its end keeps its own descriptors, which is no violation of the target's.
    assert {(r.violation, r.second_reached) for r in seen} == {(False, True)}


def test_what_upstream_never_releases_stays_a_leak_with_a_second_fault(directory: Path) -> None:
    collected = pairs(directory, "Never", runner="zygote")
    seen = [r for r in collected.results.values() if r.point.callee.endswith("getppid")]
    assert {(r.verdict, r.violation) for r in seen} == {("leak", True)}
    assert [r for r in seen if r.second_reached] == []
    assert all("not called" in str(r.notes) for r in seen if r.second)


def test_pairs_are_resumed_like_any_case(directory: Path) -> None:
    whole = pairs(directory, "Stops", runner="zygote")
    done = tuple(whole.results.values())[:-3]
    rest = pairs(directory, "Stops", runner="zygote", skip=done)
    assert set(rest.results) == {r.id for r in whole.results.values()} - {r.id for r in done}
    assert {r.second != "" for r in rest.results.values()} == {True}


def test_only_what_is_owned_at_a_step_can_fail_to_be_released() -> None:
    owned = tuple(msgspec.structs.replace(row, made_in=row.step) for row in OWNED)
    recording = msgspec.structs.replace(RECORDING, owned=owned)
    assert seconds_at(recording, ("RuntimeError",), point(2)) == []
    assert seconds_at(recording, ("RuntimeError", "hang"), point(3)) == [
        "executor.shutdown/before/RuntimeError",
        "executor.shutdown/after/RuntimeError",
        "executor.shutdown/before/hang",
    ]
    assert len(seconds_at(recording, ("RuntimeError",), point(5))) == 4
    between = point(4, level="opcodes")
    assert len(seconds_at(recording, ("RuntimeError",), between)) == 4


@pytest.mark.parametrize(
    ("row", "can"),
    [
        (Owned("pool", 1, "m:Pool.__init__", "close", made_in=1), True),
        (Owned("pool", 1, "m:Pool.__init__", "", made_in=1), False),
        (Owned("GC freeze", 1, "gc:freeze", "gc.unfreeze", amounts=("GC frozen",)), True),
        (Owned("fds", 1, "posix:open", "close", amounts=("+1 fds",)), False),
        (Owned("signals", 1, "m:f", "a, b", amounts=("SIGINT",)), False),
    ],
)
def test_a_function_that_is_told_what_to_release_cannot_be_told_apart(row: Owned, can: bool) -> None:
    recording = msgspec.structs.replace(RECORDING, owned=(row,))
    assert bool(seconds_at(recording, ("RuntimeError",), point(3))) == can


def test_an_object_of_the_standard_library_is_followed_by_the_call_that_hands_it_over() -> None:
    recording = Recording(
        "m:T", "steps", (),
        tuple(Step(n, c, 1) for n, c in enumerate((SOCKET, "m:f", SOCKET), 1)),
        (
            Owned("one", 1, SOCKET, "close", made_in=1),
            Owned("two", 3, SOCKET, "close", made_in=3),
            Owned("pool", 2, "m:f", "close", made_in=2),
        ),
        objects={"pool": "m:f#1"},
    )  # fmt: skip
    assert starts_of(recording) == {f"{SOCKET}#1": "one", f"{SOCKET}#2": "two"}


def test_cases_with_different_second_faults_do_not_speak_for_each_other(directory: Path) -> None:
    collected = pairs(directory, "Stops", runner="zygote", second_faults=("RuntimeError",))
    classes: dict[object, set[str]] = {}
    for result in collected.results.values():
        classes.setdefault(class_of(result), set()).add(result.second)
    assert {len(seconds) for seconds in classes.values()} == {1}


def test_a_case_speaks_for_pairs_whose_second_fault_never_came(directory: Path) -> None:
    collected = pairs(directory, "Never", runner="fork", confirm="class")
    confirmed = [r for r in collected.results.values() if r.confirmed and r.verdict == "leak" and r.violation]
    assert [(r.second, r.stands_for > 1) for r in confirmed] == [("", True)]
