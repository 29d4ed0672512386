"""What cannot be asked of a transaction, and what it says then: one line that tells what to mend."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from engine import OwnershipTransaction, transactional
from tests.ownership._parts import rolled_back


@pytest.fixture
def transaction() -> OwnershipTransaction:
    return OwnershipTransaction("server")


def test_a_name_is_given_once(transaction: OwnershipTransaction) -> None:
    transaction.own("pool", 1, release=print)
    with pytest.raises(RuntimeError, match=r"^server: has a resource called pool already$"):
        transaction.own("pool", 2, release=print)


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_nothing_is_acquired_after_the_end(transaction: OwnershipTransaction, end: str) -> None:
    made: list[int] = []
    getattr(transaction, end)()
    with pytest.raises(
        RuntimeError, match=r"^server: pool cannot be acquired, the transaction is (committed|rolled back)$"
    ):
        transaction.acquire("pool", made.append, 1, release=print)
    assert made == []


@pytest.mark.parametrize("release", [None, 3, (), ("close", 3), b"close"])
def test_a_release_is_a_name_or_callable_and_asked_for_before_anything_is_made(
    transaction: OwnershipTransaction, release: Any
) -> None:
    made: list[int] = []
    with pytest.raises(
        TypeError, match=r"^server: the release of pool is neither a method's name nor callable$"
    ):
        transaction.acquire("pool", made.append, 1, release=release)
    assert made == []


def test_what_was_rolled_back_is_not_committed(transaction: OwnershipTransaction) -> None:
    rolled_back(transaction)
    with pytest.raises(RuntimeError, match=r"^server: nothing to commit, it was rolled back$"):
        transaction.commit()


def test_a_release_that_the_resource_does_not_have_is_a_release_that_fails(
    transaction: OwnershipTransaction, caplog: pytest.LogCaptureFixture
) -> None:
    released: list[int] = []
    transaction.own("first", 1, release=released.append)
    transaction.own("second", 2, release="shut_it_down")
    rolled_back(transaction)
    assert released == [1]
    assert "shut_it_down" in caplog.text


def test_the_signature_of_a_constructor_is_what_a_caller_passes() -> None:
    class Server:
        @transactional("Server")
        def __init__(self, transaction: OwnershipTransaction, path: str, *, size: int = 3) -> None:
            """Serves."""

    assert str(inspect.signature(Server)) == "(path: 'str', *, size: 'int' = 3) -> 'None'"
    assert Server.__init__.__doc__ == "Serves."
    with pytest.raises(TypeError, match="path"):
        Server()  # type: ignore[call-arg]


@pytest.mark.parametrize("seconds", ["5", True, b"1", [3]])
@pytest.mark.parametrize("which", ["deadline", "grace"])
def test_a_time_is_a_number_and_asked_for_before_a_rollback_needs_it(which: str, seconds: Any) -> None:
    with pytest.raises(TypeError, match=rf"^server: {which} is .*: give seconds, or None for no limit$"):
        OwnershipTransaction("server", **{which: seconds})


@pytest.mark.parametrize("seconds", [-1, float("nan")])
def test_a_time_is_not_below_nothing(transaction: OwnershipTransaction, seconds: float) -> None:
    made: list[int] = []
    with pytest.raises(ValueError, match=r"^server: deadline of pool is .*: give seconds from 0 on"):
        transaction.acquire("pool", made.append, 1, release=print, deadline=seconds)
    assert made == []


def test_an_order_is_a_list_of_names() -> None:
    with pytest.raises(TypeError, match=r"^server: order is 'pool': give a list of names$"):
        OwnershipTransaction("server", order="pool")
