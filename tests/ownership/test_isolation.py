"""A release that fails stops no other, and changes nothing about the exception that began the rollback."""

from __future__ import annotations

import contextvars
import gc
import logging
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from engine import OwnershipTransaction, transactional
from engine._transaction import DEADLINE
from tests.ownership._parts import Part, raising, rolled_back, what

ERRORS = [
    ValueError("second"),
    KeyboardInterrupt("second"),
    SystemExit("second"),
    GeneratorExit("second"),
    BaseExceptionGroup("second", [KeyboardInterrupt()]),
]
HERE_OR_IN_A_THREAD = pytest.mark.parametrize("deadline", [None, DEADLINE], ids=["here", "in a thread"])
SECOND = pytest.mark.parametrize("second", ERRORS, ids=lambda error: type(error).__name__)


@HERE_OR_IN_A_THREAD
@SECOND
def test_the_others_are_released_and_the_failure_is_logged_with_its_traceback(
    second: BaseException, deadline: float | None, caplog: pytest.LogCaptureFixture
) -> None:
    log: list[str] = []
    transaction = OwnershipTransaction("server", deadline=deadline)
    transaction.acquire("first", Part, "first", log, release="close")
    transaction.own("second", 2, release=raising(second))
    transaction.acquire("third", Part, "third", log, release="close")
    rolled_back(transaction)
    assert log == ["third", "first"]
    (record,) = caplog.records
    assert record.getMessage() == "server: release of second failed; what else is owned is still released"
    assert record.name == "engine"
    assert record.exc_info is not None
    assert record.exc_info[1] is second
    assert "in release" in "".join(traceback.format_exception(second))
    failed = [event for event in transaction.record if event.what == "release failed"]
    assert [(event.name, event.error) for event in failed] == [
        ("second.release", f"{type(second).__qualname__}: {second}")
    ]


@SECOND
def test_the_releases_of_one_resource_are_isolated_from_each_other(second: BaseException) -> None:
    log: list[str] = []
    transaction = OwnershipTransaction("server")
    transaction.acquire(
        "part", Part, "part", log, release=(raising(second), "close", raising(second), "close")
    )
    rolled_back(transaction)
    assert log == ["part", "part"]


class _Fails(logging.Handler):
    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def emit(self, record: logging.LogRecord) -> None:
        raise self.error


@SECOND
def test_a_logger_that_fails_stops_nothing(second: BaseException) -> None:
    logger = logging.Logger("a test's own")
    logger.addHandler(_Fails(second))
    log: list[str] = []
    transaction = OwnershipTransaction("server", logger=logger)
    transaction.acquire("first", Part, "first", log, release="close")
    transaction.own("second", 2, release=raising(ValueError("second")))
    rolled_back(transaction)
    assert log == ["first"]
    assert ("log failed", "second") in what(transaction)


@SECOND
def test_a_preparation_that_fails_leaves_no_release_out(
    second: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    log: list[str] = []

    def prepare_here() -> Callable[[], object]:
        raise second

    def prepare_there() -> Callable[[], object]:
        return lambda: raising(second)(None)

    for prepare in (prepare_here, prepare_there):
        log.clear()
        caplog.clear()
        transaction = OwnershipTransaction("server", prepare=prepare)
        for name in ("first", "second"):
            transaction.acquire(name, Part, name, log, release="close")
        rolled_back(transaction)
        assert log == ["second", "first"]
        assert [name for kind, name in what(transaction) if kind == "not prepared"] == ["second", "first"]
        assert "what prepares close of second failed" in caplog.text


def test_a_preparation_runs_in_the_thread_of_the_release() -> None:
    prepared: list[int] = []
    released: list[int] = []

    def prepare() -> Callable[[], object]:
        return lambda: prepared.append(threading.get_ident())

    transaction = OwnershipTransaction("server", prepare=prepare)
    transaction.own("part", 1, release=lambda _: released.append(threading.get_ident()))
    rolled_back(transaction)
    assert prepared == released
    assert released != [threading.get_ident()]


@HERE_OR_IN_A_THREAD
def test_context_variables_reach_a_release(deadline: float | None) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("the caller's")
    seen: list[str] = []
    transaction = OwnershipTransaction("server", deadline=deadline)
    transaction.own("part", 1, release=lambda _: seen.append(variable.get()))
    rolled_back(transaction)
    assert seen == ["the caller's"]


def construct(error: BaseException, second: BaseException, deadline: float | None) -> None:
    @transactional("server", deadline=deadline)
    def __init__(_: object, transaction: OwnershipTransaction) -> None:
        transaction.own("first", 1, release=raising(second))
        transaction.own("second", 2, release=raising(second))
        raise error

    __init__(object())


@HERE_OR_IN_A_THREAD
@SECOND
@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_the_first_exception_leaves_as_it_was_raised(
    kind: type[BaseException], second: BaseException, deadline: float | None
) -> None:
    error, cause, context = kind("first"), ValueError("cause"), KeyError("context")
    error.__cause__, error.__context__ = cause, context
    error.add_note("a note")
    error.args = ("first", 2)
    with pytest.raises(kind) as caught:
        construct(error, second, deadline)
    assert caught.value is error
    assert error.__cause__ is cause
    assert error.__context__ is context
    assert (error.__notes__, error.args) == (["a note"], ("first", 2))
    frames = [(frame.filename, frame.name) for frame in traceback.extract_tb(error.__traceback__)]
    names = [name for _, name in frames]
    assert names[-3:] == ["construct", "construct", "__init__"]
    engine = [name for file, name in frames if file.endswith("/engine/_transaction.py")]
    assert engine == ["construct"]
    assert not any("/engine/" in file for file, name in frames if name != "construct")


def test_an_exception_without_a_context_gets_none() -> None:
    error = RuntimeError("first")
    with pytest.raises(RuntimeError):
        construct(error, ValueError("second"), None)
    assert (error.__cause__, error.__context__) == (None, None)
    assert not hasattr(error, "__notes__")


class Watched:
    """Something of which it can be seen whether it is still there."""

    def close(self) -> None: ...

    def fail(self) -> None:
        raise ValueError("second")


@pytest.fixture
def _no_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_collection")
@HERE_OR_IN_A_THREAD
@pytest.mark.parametrize(
    "prepare", [None, lambda: 1 / 0, lambda: lambda: 1 / 0], ids=["", "fails", "fails there"]
)
@pytest.mark.parametrize("release", ["close", "fail", Watched.close])
def test_nothing_stays_alive_because_of_the_transaction(
    release: Any, prepare: Any, deadline: float | None
) -> None:
    born: list[weakref.ref[Watched]] = []

    def make() -> Watched:
        part = Watched()
        born.append(weakref.ref(part))
        return part

    # pytest's handler keeps what is logged, and with a traceback the frames of it.
    logger = logging.Logger("a test's own")
    logger.addHandler(logging.NullHandler())

    @transactional("server", deadline=deadline, logger=logger, prepare=prepare)
    def __init__(_: object, transaction: OwnershipTransaction) -> None:
        transaction.acquire("first", make, release=release)
        transaction.acquire("second", make, release=release, escalate=lambda _: None)
        raise RuntimeError("first exception")

    # Not by pytest.raises: what pytest keeps of an exception is not this test's affair.
    kept: list[BaseException] = []
    try:
        __init__(object())
    except RuntimeError as error:
        kept.append(error)
    assert [part() for part in born] == [None, None]
    assert kept[0].__traceback__ is not None


def test_an_exception_that_cannot_be_printed_is_recorded_by_its_kind() -> None:
    class Unprintable(Exception):
        def __str__(self) -> str:
            raise ValueError("no text")

    logger = logging.Logger("a test's own")
    logger.addHandler(logging.NullHandler())
    transaction = OwnershipTransaction("server", logger=logger)
    transaction.own("part", 1, release=raising(Unprintable()))
    rolled_back(transaction)
    (event,) = [event for event in transaction.record if event.what == "release failed"]
    assert event.error.endswith("Unprintable")
