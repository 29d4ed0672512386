"""Faults at named places of this process, one or several at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from faultinject.errors import UsageError
from faultinject.facts import Phase
from faultinject.injection import Injection, fault_name, injected

MADE: list[int] = []
HERE = SimpleNamespace(make=MADE.append)
NAME = __name__


class Part:
    def __init__(self) -> None:
        self.made = True

    def work(self) -> str:
        return "done"

    @staticmethod
    def count() -> int:
        return 1

    async def fetch(self, number: int) -> int:
        # The later it begins, the earlier it ends.
        for _ in range(4 - number):
            await asyncio.sleep(0)
        return number

    def numbers(self) -> Iterator[int]:
        yield 1
        yield 2


def test_a_call_fails_in_its_place_once_and_then_no_more() -> None:
    with injected(Injection(f"{NAME}:Part.work", "OSError:ENOSPC")) as seen:
        with pytest.raises(OSError, match="No space left"):
            Part().work()
        assert Part().work() == "done"
    assert seen.reached
    assert seen.calls == {f"{NAME}:Part.work": 2}
    assert Part.work.__name__ == "work"


def test_the_call_that_fails_is_counted_and_how_often_is_said() -> None:
    place = f"{NAME}:Part.count"
    with injected(Injection(place, "ValueError", occurrence=2, times=2)) as seen:
        outcomes = []
        for _ in range(4):
            try:
                outcomes.append(Part.count())
            except ValueError:
                outcomes.append("failed")
    assert outcomes == [1, "failed", "failed", 1]
    assert len(seen.fired) == 2


def test_a_fault_out_of_a_call_comes_when_its_work_is_done() -> None:
    with (
        injected(Injection(f"{NAME}:HERE.make", "KeyboardInterrupt", "after")),
        pytest.raises(KeyboardInterrupt, match="after"),
    ):
        HERE.make(3)
    assert MADE == [3]
    assert HERE.make == MADE.append


def test_a_class_stands_for_its_constructor_and_stays_what_it_is() -> None:
    with injected(Injection(f"{NAME}:Part", times=0)):
        assert isinstance(Part, type)
        for _ in range(2):
            with pytest.raises(RuntimeError):
                Part()
    assert Part().made


def test_several_wait_together_and_what_did_not_come_is_told() -> None:
    never = Injection(f"{NAME}:Part.count", occurrence=9)
    both = (
        Injection(f"{NAME}:Part.work", "ValueError"),
        Injection(f"{NAME}:Part.work", "KeyError", occurrence=2),
    )
    with injected(*both, never) as seen:
        with pytest.raises(ValueError, match="injected"):
            Part().work()
        with pytest.raises(KeyError):
            Part().work()
    assert seen.fired == list(both)
    assert seen.missed == (never,)
    assert str(never) == f"RuntimeError before {NAME}:Part.count #9"


def test_a_call_in_another_thread_fails_too() -> None:
    failures = []

    def work() -> None:
        try:
            Part().work()
        except RuntimeError as error:
            failures.append(error)

    with injected(Injection(f"{NAME}:Part.work")):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert len(failures) == 1


@pytest.mark.parametrize("which", [1, 2, 3])
@pytest.mark.parametrize("phase", ["before", "after"])
def test_of_calls_that_are_under_way_at_the_same_time_the_one_that_was_meant_fails(
    which: int, phase: Phase
) -> None:
    async def all_of_them() -> list[int | BaseException]:
        return await asyncio.gather(*(Part().fetch(n) for n in (1, 2, 3)), return_exceptions=True)

    with injected(Injection(f"{NAME}:Part.fetch", phase=phase, occurrence=which)) as seen:
        outcomes = asyncio.run(all_of_them())
    assert [n for n, outcome in enumerate(outcomes, 1) if outcome != n] == [which]
    assert isinstance(outcomes[which - 1], RuntimeError)
    assert seen.reached


def test_a_generator_fails_whoever_takes_its_last() -> None:
    with injected(Injection(f"{NAME}:Part.numbers", phase="after", occurrence=2)):
        first, second = Part().numbers(), Part().numbers()
        assert [next(first), next(second)] == [1, 1]
        assert list(first) == [2]
        with pytest.raises(RuntimeError, match="after"):
            list(second)


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (Injection("nowhere"), "the place nowhere: not a name of that form"),
        (Injection(f"{NAME}:Prat"), "has no 'Prat'.*did you mean Part"),
        (Injection(f"{NAME}:Part", "RuntimeErorr"), "RuntimeErorr"),
        (Injection(f"{NAME}:Part", phase="during"), "unknown phase 'during'"),  # type: ignore[arg-type]
        (Injection(f"{NAME}:Part", occurrence=0), "the first call is number 1"),
        (Injection(f"{NAME}:Part", times=-1), "or 0 for all"),
    ],
)
def test_what_cannot_be_injected_is_said_and_nothing_stays_replaced(one: Injection, said: str) -> None:
    before = Part.work
    with pytest.raises(UsageError, match=said), injected(Injection(f"{NAME}:Part.work"), one):
        raise AssertionError("the block is not entered")
    assert Part.work is before


def test_a_fault_is_a_name_or_a_class() -> None:
    assert fault_name("OSError:EIO") == "OSError:EIO"
    assert fault_name(ValueError) == "ValueError"
    assert fault_name(UsageError) == "faultinject.errors:UsageError"
    with pytest.raises(UsageError, match="is no fault"):
        fault_name(3)
