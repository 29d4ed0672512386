"""What a transaction releases, and in which order."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import pytest

from engine import OwnershipTransaction, transactional
from tests.ownership._parts import Part, failing, rolled_back, what


def three_parts(log: list[str], **options: Any) -> OwnershipTransaction:
    transaction = OwnershipTransaction("test", **options)
    for name in ("first", "second", "third"):
        transaction.acquire(name, Part, name, log, release="close")
    return transaction


def test_newest_goes_first() -> None:
    log: list[str] = []
    rolled_back(three_parts(log))
    assert log == ["third", "second", "first"]


def test_a_given_order_is_kept_and_what_it_does_not_name_goes_before_newest_first() -> None:
    log: list[str] = []
    transaction = three_parts(log, order=("first", "nobody", "third"))
    transaction.acquire("fourth", Part, "fourth", log, release="close")
    rolled_back(transaction)
    assert log == ["fourth", "second", "first", "third"]


def test_a_second_rollback_releases_nothing_again() -> None:
    log: list[str] = []
    transaction = three_parts(log)
    rolled_back(transaction)
    rolled_back(transaction)
    assert log == ["third", "second", "first"]


def test_a_commit_releases_nothing() -> None:
    log: list[str] = []
    transaction = three_parts(log)
    transaction.commit()
    assert (log, transaction.state) == ([], "committed")


def test_what_never_came_back_from_its_constructor_is_not_touched() -> None:
    log: list[str] = []
    transaction = three_parts(log)
    with pytest.raises(ValueError, match="no part was made"):
        transaction.acquire("fourth", failing, release=log.append)
    rolled_back(transaction)
    assert log == ["third", "second", "first"]
    assert not any(event.name.startswith("fourth") for event in transaction.record)


def test_what_did_not_come_about_may_be_tried_again_under_its_name() -> None:
    log: list[str] = []
    transaction = OwnershipTransaction("test")
    with contextlib.suppress(ValueError):
        transaction.acquire("port", failing, release="close")
    transaction.acquire("port", Part, "port", log, release="close")
    rolled_back(transaction)
    assert log == ["port"]


def test_several_releases_of_one_resource_run_in_their_order_each_once() -> None:
    log: list[str] = []
    transaction = OwnershipTransaction("test")
    releases = ("close", lambda part: log.append("then"), "close")
    transaction.acquire("part", Part, "part", log, release=releases)
    rolled_back(transaction)
    assert log == ["part", "then", "part"]


def test_what_exists_already_is_owned_from_the_call_on() -> None:
    log: list[str] = []
    transaction = OwnershipTransaction("test")
    part = Part("lent", log)
    assert transaction.own("lent", part, release=Part.close) is part
    assert transaction.owns("lent")
    rolled_back(transaction)
    assert log == ["lent"]
    assert not transaction.owns("lent")


def test_none_can_be_owned_like_any_other_value() -> None:
    log: list[Any] = []
    transaction = OwnershipTransaction("test")
    transaction.acquire("nothing", lambda: None, release=log.append)
    rolled_back(transaction)
    assert log == [None]


def test_keyword_arguments_reach_the_constructor() -> None:
    transaction = OwnershipTransaction("test")
    found = transaction.acquire("dict", dict, release="clear", keywords={"release": 1, "name": 2})
    assert found == {"release": 1, "name": 2}


def test_the_record_says_what_happened_in_its_order() -> None:
    transaction = three_parts([])
    rolled_back(transaction)
    assert what(transaction) == [
        ("acquired", "first"),
        ("acquired", "second"),
        ("acquired", "third"),
        ("released", "third.close"),
        ("released", "second.close"),
        ("released", "first.close"),
    ]
    times = [event.at for event in transaction.record]
    assert times == sorted(times)


def test_a_block_commits_at_its_end_and_rolls_back_on_any_exception() -> None:
    log: list[str] = []
    with OwnershipTransaction("test") as transaction:
        transaction.acquire("part", Part, "kept", log, release="close")
    assert (log, transaction.state) == ([], "committed")
    for error in (ValueError("x"), KeyboardInterrupt(), GeneratorExit(), SystemExit(3)):
        transaction = OwnershipTransaction("test")
        with pytest.raises(type(error)) as caught:
            _in_a_block(transaction, log, error)
        assert caught.value is error
        assert transaction.state == "rolled back"
    assert log == ["ValueError", "KeyboardInterrupt", "GeneratorExit", "SystemExit"]


def _in_a_block(transaction: OwnershipTransaction, log: list[str], error: BaseException) -> None:
    with transaction:
        transaction.acquire("part", Part, type(error).__name__, log, release="close")
        raise error


def test_a_constructor_gets_its_arguments_and_hands_over_what_it_returns() -> None:
    log: list[str] = []

    class Server:
        @transactional("Server")
        def __init__(self, transaction: OwnershipTransaction, size: int, *, name: str) -> None:
            self.part = transaction.acquire("part", Part, name, log, release="close")
            self.size = size
            self.transaction = transaction

        @transactional("pair")
        def pair(self, transaction: OwnershipTransaction, other: int) -> tuple[int, int]:
            return self.size, other

    server = Server(3, name="x")
    assert (server.part.name, server.size, server.pair(4), log) == ("x", 3, (3, 4), [])
    assert server.transaction.state == "committed"


def test_each_construction_has_a_transaction_of_its_own() -> None:
    seen: list[OwnershipTransaction] = []

    @transactional("one")
    def construct(log: list[str], transaction: OwnershipTransaction, fails: bool) -> None:
        seen.append(transaction)
        transaction.acquire("part", Part, str(fails), log, release="close")
        if fails:
            raise ValueError("x")

    log: list[str] = []
    construct(log, False)
    with pytest.raises(ValueError, match="x"):
        construct(log, True)
    construct(log, False)
    assert log == ["True"]
    assert len(set(map(id, seen))) == 3


def test_a_nested_transaction_is_one_resource_of_the_outer_one() -> None:
    log: list[str] = []

    class Inner:
        @transactional("Inner")
        def __init__(self, transaction: OwnershipTransaction, fails: bool) -> None:
            transaction.acquire("part", Part, "inner", log, release="close")
            if fails:
                raise ValueError("inner")

        def close(self) -> None:
            log.append("inner, by the outer")

    class Outer:
        @transactional("Outer")
        def __init__(self, transaction: OwnershipTransaction, fails: bool) -> None:
            transaction.acquire("part", Part, "outer", log, release="close")
            transaction.acquire("inner", Inner, fails, release="close")
            raise ValueError("outer")

    with pytest.raises(ValueError, match="inner"):
        Outer(True)
    assert log == ["inner", "outer"]
    log.clear()
    with pytest.raises(ValueError, match="outer"):
        Outer(False)
    assert log == ["inner, by the outer", "outer"]


def test_a_rollback_in_another_thread_is_as_good() -> None:
    log: list[str] = []
    where: list[threading.Thread] = []

    def construct() -> None:
        transaction = three_parts(log)
        transaction.own("x", 0, release=lambda _: where.append(threading.current_thread()), deadline=None)
        with contextlib.suppress(ValueError), transaction:
            raise ValueError("x")

    thread = threading.Thread(target=construct)
    thread.start()
    thread.join()
    assert log == ["third", "second", "first"]
    assert where == [thread]
