"""A rollback ends: each release has a deadline, and an escalation."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from engine import OwnershipTransaction, stop_processes
from tests.ownership._child import output
from tests.ownership._parts import Part, rolled_back, what

IGNORES_ITS_END = """
import signal
signal.signal(signal.SIGTERM, lambda *_: print("asked to end", flush=True))
print("ready", flush=True)
while True:
    signal.pause()
"""


def start(program: str) -> subprocess.Popen[str]:
    """A child process that has told that it is ready."""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def end(child: subprocess.Popen[str]) -> None:
    stop_processes([child], grace=0.1)


@pytest.mark.parametrize("stopped", [False, True], ids=["ignores SIGTERM", "is stopped as well"])
def test_a_child_that_does_not_end_is_terminated_killed_and_reaped(stopped: bool) -> None:
    log: list[str] = []
    transaction = OwnershipTransaction("server", grace=30)
    transaction.acquire("part", Part, "part", log, release="close")
    child = transaction.acquire("worker", start, IGNORES_ITS_END, release="wait", deadline=0.05, escalate=end)
    if stopped:
        child.send_signal(19)
    rolled_back(transaction)
    assert child.returncode == -9
    assert child.stdout is not None
    # One that was stopped goes on, to hear of it.
    assert child.stdout.read() == "asked to end\n"
    child.stdout.close()
    assert what(transaction)[2:] == [
        ("escalated", "worker"),
        ("released", "worker.wait"),
        ("released", "part.close"),
    ]
    assert log == ["part"]


@pytest.fixture
def lock() -> Iterator[threading.Lock]:
    """One that somebody holds for as long as the test runs; the release that waits for it ends after it."""
    lock = threading.Lock()
    lock.acquire()
    yield lock
    lock.release()
    for thread in threading.enumerate():
        if thread.name.startswith("release of "):
            thread.join()


def test_a_release_stuck_in_c_is_given_up_and_the_rest_released(
    lock: threading.Lock, caplog: pytest.LogCaptureFixture
) -> None:
    def wait_for_ever(_: Any) -> None:
        lock.acquire()
        lock.release()

    log: list[str] = []
    transaction = OwnershipTransaction("server")
    transaction.acquire("first", Part, "first", log, release="close")
    transaction.own("second", 2, release=wait_for_ever, deadline=0.05)
    transaction.acquire("third", Part, "third", log, release="close")
    rolled_back(transaction)
    assert log == ["third", "first"]
    assert ("abandoned", "second.wait_for_ever") in what(transaction)
    text = caplog.text
    assert "server: wait_for_ever of second had not ended 0.1 s after it began and was given up" in text
    assert "lock.acquire()" in text, "the stack of the thread that is stuck"


def test_an_escalation_that_frees_the_release_lets_it_end(lock: threading.Lock) -> None:
    free = threading.Event()
    transaction = OwnershipTransaction("server", grace=30)
    transaction.own("part", 1, release=lambda _: free.wait(), deadline=0.05, escalate=lambda _: free.set())
    rolled_back(transaction)
    assert what(transaction)[1:] == [("escalated", "part"), ("released", "part.<lambda>")]


def test_an_escalation_gets_what_is_owned() -> None:
    free = threading.Event()
    transaction = OwnershipTransaction("server", grace=30)
    transaction.own("part", free, release="wait", deadline=0.05, escalate=threading.Event.set)
    rolled_back(transaction)
    assert what(transaction)[-1] == ("released", "part.wait")


def test_an_escalation_that_is_stuck_as_well_ends_too(lock: threading.Lock) -> None:
    def wait_for_ever(_: Any) -> None:
        with lock:
            pass

    log: list[str] = []
    transaction = OwnershipTransaction("server", grace=0.05)
    transaction.acquire("first", Part, "first", log, release="close")
    transaction.own("second", 2, release=wait_for_ever, deadline=0.05, escalate=wait_for_ever)
    rolled_back(transaction)
    assert log == ["first"]
    assert ("abandoned", "second.wait_for_ever") in what(transaction)


def test_an_escalation_that_fails_is_recorded(lock: threading.Lock) -> None:
    def wait_for_ever(_: Any) -> None:
        with lock:
            pass

    def fail(_: Any) -> None:
        raise ValueError("no")

    transaction = OwnershipTransaction("server", grace=0.05)
    transaction.own("part", 2, release=wait_for_ever, deadline=0.05, escalate=fail)
    rolled_back(transaction)
    (event,) = [event for event in transaction.record if event.what == "abandoned"]
    assert event.error == "ValueError: no"


def test_a_release_in_time_is_not_escalated() -> None:
    escalated: list[int] = []
    transaction = OwnershipTransaction("server")
    transaction.own("part", 1, release=lambda _: None, escalate=escalated.append)
    rolled_back(transaction)
    assert escalated == []


def test_a_release_that_is_stuck_does_not_keep_the_interpreter_from_ending() -> None:
    lines = output("""
        import logging, threading
        from engine import OwnershipTransaction
        logging.getLogger("engine").addHandler(logging.NullHandler())
        transaction = OwnershipTransaction("server", deadline=0.05)
        transaction.own("part", threading.Event(), release="wait")
        transaction.own("last", 1, release=lambda _: print("last"))
        _ = [*transaction.rollback()]
        print("end")
    """)
    assert lines == ["last", "end"]


def test_without_a_thread_to_be_had_the_release_still_runs() -> None:
    lines = output("""
        import resource, threading
        from pathlib import Path
        from engine import OwnershipTransaction
        transaction = OwnershipTransaction("server", deadline=30)
        for name in ("first", "second"):
            transaction.own(name, name, release=lambda name: print(name, threading.current_thread().name))
        # A thread asks for more memory than there is, anything else for far less.
        threading.stack_size(1 << 30)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + (1 << 28)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        try:
            threading.Thread(target=print).start()
        except RuntimeError as error:
            print(error)
        _ = [*transaction.rollback()]
    """)
    assert lines == ["can't start new thread", "second MainThread", "first MainThread"]
