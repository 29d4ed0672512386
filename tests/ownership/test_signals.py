"""SIGINT and SIGTERM around a rollback: the first exception leaves, and the signal is not lost."""

from __future__ import annotations

import signal

import pytest

from tests.ownership._child import output, run

CONSTRUCTOR = """
import os, signal, sys, threading
from engine import OwnershipTransaction, transactional

def asked(number, frame):
    print(signal.Signals(number).name, "handled in", frame.f_code.co_name)

def sends(number):
    def release(_):
        os.kill(os.getpid(), number)
        print("not stopped by", signal.Signals(number).name)
    return release

def says(text):
    return lambda _: print(text, "released")

kept = []

class Thing:
    @transactional("Thing", deadline={deadline})
    def __init__(self, transaction, *numbers):
        kept.append(transaction)
        transaction.own("first", 1, release=says("first"))
        for number in numbers:
            transaction.own(str(int(number)), 1, release=sends(number))
        transaction.own("last", 1, release=says("last"))
        raise RuntimeError("first exception")

def caller(*numbers):
    try:
        Thing(*numbers)
    except RuntimeError as error:
        print(error)
"""
HERE_OR_IN_A_THREAD = pytest.mark.parametrize("deadline", [None, 30.0], ids=["here", "in a thread"])


@HERE_OR_IN_A_THREAD
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_in_a_release_is_held_and_handled_in_the_caller_once_the_first_exception_left(
    number: signal.Signals, deadline: float | None
) -> None:
    lines = output(
        CONSTRUCTOR.format(deadline=deadline)
        + f"""
signal.signal({number.value}, asked)
caller(signal.{number.name})
print([event.what for event in kept[0].record if event.what.startswith("signal")])
print(signal.getsignal({number.value}) is asked)
"""
    )
    assert lines[:3] == ["last released", f"not stopped by {number.name}", "first released"]
    assert sorted(lines[3:5]) == sorted(["first exception", f"{number.name} handled in caller"])
    assert lines[5:] == ["['signal held']", "True"]


@HERE_OR_IN_A_THREAD
def test_both_signals_are_handled_each_once_in_their_order(deadline: float | None) -> None:
    lines = output(
        CONSTRUCTOR.format(deadline=deadline)
        + """
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, asked)
caller(signal.SIGTERM, signal.SIGINT)
"""
    )
    handled = {"SIGINT handled in caller", "SIGTERM handled in caller"}
    assert handled < set(lines)
    assert len(lines) == 7


def test_the_usual_keyboard_interrupt_has_the_first_exception_as_its_context() -> None:
    lines = output(
        CONSTRUCTOR.format(deadline=None)
        + """
try:
    caller(signal.SIGINT)
except KeyboardInterrupt as error:
    print(repr(error.__context__))
"""
    )
    assert lines[-1] == "RuntimeError('first exception')"
    assert "first released" in lines


def test_sigterm_with_the_default_action_ends_the_process_after_the_rollback() -> None:
    done = run(
        CONSTRUCTOR.format(deadline=None)
        + """
sys.stdout.reconfigure(line_buffering=True)
caller(signal.SIGTERM)
print("never")
"""
    )
    assert done.returncode == -signal.SIGTERM
    assert done.stdout.splitlines() == ["last released", "not stopped by SIGTERM", "first released"]


def test_an_ignored_signal_stays_ignored() -> None:
    lines = output(
        CONSTRUCTOR.format(deadline=None)
        + """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
caller(signal.SIGTERM)
print(signal.getsignal(signal.SIGTERM) is signal.SIG_IGN)
"""
    )
    assert lines == ["last released", "not stopped by SIGTERM", "first released", "first exception", "True"]


def test_a_handler_that_a_release_installs_stays() -> None:
    lines = output(
        CONSTRUCTOR.format(deadline=None)
        + """
def mine(number, frame):
    print("mine")

transaction = OwnershipTransaction("other", deadline=None)
transaction.own("handler", 1, release=lambda _: signal.signal(signal.SIGTERM, mine))
_ = [*transaction.rollback()]
print(signal.getsignal(signal.SIGTERM) is mine)
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""
    )
    assert lines == ["True", "True"]


INTERRUPTED = """
def at(name, event="call", times=1):
    seen = []
    def tracer(frame, what, arg):
        if frame.f_code.co_name == name and what == event:
            seen.append(1)
            if len(seen) == times:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
        return tracer
    sys.settrace(tracer)
"""


@pytest.mark.parametrize(
    ("name", "event", "times"),
    [
        ("rollback", "call", 1),
        ("hold", "call", 1),
        # The handler of SIGINT, then that of SIGTERM, is about to be replaced.
        ("signal", "call", 1),
        ("hold", "line", 3),
        ("hold", "line", 5),
        ("rollback", "return", 1),
        ("let_go", "return", 1),
    ],
)
def test_a_rollback_that_is_interrupted_before_signals_are_held_goes_on(
    name: str, event: str, times: int
) -> None:
    """In every case a second interrupt comes in a release, and neither of the two stops it."""
    lines = output(
        CONSTRUCTOR.format(deadline=None)
        + INTERRUPTED
        + f"""
try:
    at({name!r}, {event!r}, {times})
    caller(signal.SIGINT)
except KeyboardInterrupt as error:
    print("then", repr(error.__context__))
print([event.what for event in kept[0].record if event.what == "interrupted"])
"""
    )
    assert lines[:3] == ["last released", "not stopped by SIGINT", "first released"]
    assert "then RuntimeError('first exception')" in lines[3:]
    assert lines[-1] == "['interrupted']"


def test_a_commit_that_is_interrupted_before_the_constructor_returns_is_rolled_back() -> None:
    lines = output(
        CONSTRUCTOR.format(deadline=None)
        + INTERRUPTED
        + """
@transactional("whole", deadline=None)
def construct(_, transaction):
    kept.append(transaction)
    transaction.own("part", 1, release=says("part"))
    return "whole"

try:
    at("commit", "return")
    print(construct(1))
except KeyboardInterrupt:
    print("interrupted")
print([event.what for event in kept[0].record])
print(construct(1))
"""
    )
    assert lines == [
        "part released",
        "interrupted",
        "['acquired', 'committed', 'released']",
        "whole",
    ]


def test_a_held_signal_is_not_lost_by_an_interrupt_right_before_it_is_sent_again() -> None:
    lines = output(
        CONSTRUCTOR.format(deadline=None)
        + INTERRUPTED
        + """
signal.signal(signal.SIGTERM, asked)
try:
    at("resend", "return")
    caller(signal.SIGTERM)
except KeyboardInterrupt as error:
    print("then", repr(error.__context__))
"""
    )
    assert any(line.startswith("SIGTERM handled in") for line in lines)
    assert "then RuntimeError('first exception')" in lines


def test_what_is_raised_by_another_than_the_signal_is_not_taken_for_it() -> None:
    """SystemExit does not come from a SIGTERM that has the default action, which would end the process."""
    lines = output(
        CONSTRUCTOR.format(deadline=None)
        + """
transaction = OwnershipTransaction("other")
transaction.own("part", 1, release=says("part"))
_ = [*transaction.interrupted(SystemExit(3))]
print("still here")
"""
    )
    assert lines == ["part released", "still here"]


def test_a_supervisor_s_system_exit_is_not_lost() -> None:
    lines = output(
        CONSTRUCTOR.format(deadline=None)
        + INTERRUPTED.replace("SIGINT", "SIGTERM")
        + """
def exits(number, frame):
    raise SystemExit("asked to end")

signal.signal(signal.SIGTERM, exits)
try:
    at("rollback")
    caller()
except SystemExit as error:
    print(error)
"""
    )
    assert lines[:2] == ["last released", "first released"]
    assert lines[-1] == "asked to end"


def test_another_thread_holds_nothing_and_the_main_thread_is_interrupted_as_always() -> None:
    lines = output(
        CONSTRUCTOR.format(deadline=None)
        + """
def ask(_):
    handlers.append(signal.getsignal(signal.SIGINT))

handlers = []

def other():
    transaction = OwnershipTransaction("other", deadline=None)
    transaction.own("part", 1, release=ask)
    _ = [*transaction.rollback()]

thread = threading.Thread(target=other)
thread.start()
thread.join()
print(handlers[0] is signal.default_int_handler)
"""
    )
    assert lines == ["True"]


def test_a_block_hands_the_signal_to_its_caller_as_well() -> None:
    lines = output(
        CONSTRUCTOR.format(deadline=None)
        + """
signal.signal(signal.SIGINT, asked)
def block():
    with OwnershipTransaction("other") as transaction:
        transaction.own("first", 1, release=says("first"))
        transaction.own("second", 1, release=sends(signal.SIGINT))
        raise RuntimeError("first exception")

try:
    block()
except RuntimeError as error:
    print(error)
"""
    )
    assert lines[:2] == ["not stopped by SIGINT", "first released"]
    assert "first exception" in lines
    assert any(line.startswith("SIGINT handled in") for line in lines)
