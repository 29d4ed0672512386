"""What a start-up error carries from one process to another."""

from __future__ import annotations

import json
import pickle

import pytest

from engine import Cause, StartupError


def planted() -> Cause:
    try:
        raise ValueError("planted")
    except ValueError as error:
        return Cause.of(error, "worker[1]", 42)


def test_it_names_role_process_exception_and_traceback() -> None:
    said = str(StartupError(planted()))
    assert said.startswith("the engine did not start: worker[1] (pid 42) failed: ValueError: planted\n")
    assert said.rstrip().endswith("ValueError: planted")
    assert "in planted" in said


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (-9, "was ended by SIGKILL before it was ready"),
        (3, "exited with status 3 before it was ready"),
        (None, "closed its pipe before it was ready"),
        (-99, "was ended by signal 99 before it was ready"),
    ],
)
def test_one_that_told_nothing_is_known_by_how_it_ended(status: int | None, said: str) -> None:
    assert str(Cause.of_end("engine", 7, status)) == f"engine (pid 7) {said}"


def test_one_that_a_signal_asked_to_end_was_ended_by_that() -> None:
    said = str(Cause.of(SystemExit(128 + 15), "engine", 7))
    assert said == "engine (pid 7) was ended by SIGTERM before it was ready"
    assert (
        str(Cause.of(SystemExit(1), "engine", 7)) == "engine (pid 7) exited with status 1 before it was ready"
    )


def test_it_travels_as_plain_data_and_as_an_exception() -> None:
    cause = planted()
    assert Cause.from_data(json.loads(json.dumps(cause.as_data()))) == cause
    assert pickle.loads(pickle.dumps(StartupError(cause))).cause == cause


def test_what_is_no_cause_is_none() -> None:
    assert Cause.from_data(None) is None
    assert Cause.from_data({"role": "engine"}) is None
    assert Cause.from_data(["engine"]) is None


def test_the_cause_of_a_start_up_error_is_its_own_wherever_it_is_caught() -> None:
    cause = planted()
    assert Cause.of(StartupError(cause), "engine", 1) is cause


def test_a_traceback_of_any_length_keeps_its_end() -> None:
    try:
        raise ValueError("x" * 100_000 + "the end")
    except ValueError as error:
        cause = Cause.of(error, "engine", 1)
    assert len(cause.traceback) < 21_000
    assert cause.traceback.rstrip().endswith("the end")
