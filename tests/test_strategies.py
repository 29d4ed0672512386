"""Property tests over faults, cases and schedules come down to what is smallest."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from faultinject.errors import UsageError
from faultinject.facts import Case
from faultinject.injection import Injection, Schedule, injected
from faultinject.strategies import SweptTarget, faults, injections, schedules

NAME = __name__
QUIET = settings(
    max_examples=3000, database=None, deadline=None, derandomize=True,
    suppress_health_check=list(HealthCheck), phases=[Phase.generate, Phase.shrink],
)  # fmt: skip


class Store:
    """Falls back from one replica to the next, and loses what it wrote where both fail."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    def first(self) -> None:
        self.kept.append("first")

    def second(self) -> None:
        self.kept.append("second")

    def flush(self) -> None:
        """Not needed for anything to be kept."""

    def save(self) -> None:
        try:
            self.first()
        except OSError:
            self.second()
        try:
            self.flush()
        except Exception:
            self.kept.append("flushed later")


PLACES = [f"{NAME}:Store.flush", f"{NAME}:Store.first", f"{NAME}:Store.second"]


def loses(schedule: Schedule) -> bool:
    """Whether what was saved is not kept, although each single failure is dealt with."""
    store = Store()
    with injected(*schedule), contextlib.suppress(OSError):
        store.save()
    return not {"first", "second"} & set(store.kept)


def test_a_schedule_shrinks_to_the_smallest_that_fails() -> None:
    every = schedules(PLACES, faults=["OSError:EIO", "KeyError"], max_size=4, occurrences=2, times=(1, 2))
    smallest = find(every, loses_quietly, settings=QUIET)
    assert smallest == (
        Injection(f"{NAME}:Store.first", "OSError:EIO"),
        Injection(f"{NAME}:Store.second", "OSError:EIO"),
    )


def loses_quietly(schedule: Schedule) -> bool:
    try:
        return loses(schedule)
    except Exception:
        return False


def test_one_fault_alone_loses_nothing() -> None:
    with pytest.raises(NoSuchExample):
        find(schedules(PLACES, faults=["OSError:EIO"], max_size=1), loses, settings=QUIET)


def test_the_plainest_fault_is_the_simplest_and_no_signal_is_among_them() -> None:
    assert find(faults(), lambda _: True, settings=QUIET) == "RuntimeError"
    assert find(faults(), lambda name: name.startswith("OSError"), settings=QUIET) == "OSError:EADDRINUSE"
    with pytest.raises(NoSuchExample):
        find(faults(), lambda name: name.startswith(("SIG", "torch")), settings=QUIET)
    assert find(faults(KeyboardInterrupt, ValueError), lambda _: True, settings=QUIET) == "ValueError"


@given(schedules(PLACES, max_size=3, occurrences=2))
@settings(QUIET, max_examples=50)
def test_no_two_faults_of_a_schedule_wait_for_the_same_call(schedule: Schedule) -> None:
    places = [(one.place, one.phase, one.occurrence) for one in schedule]
    assert len(set(places)) == len(places)
    order = [PLACES.index(place) for place, _, _ in places]
    assert order == sorted(order)


def test_a_place_has_to_be_named_and_the_faults_may_be_a_strategy() -> None:
    with pytest.raises(UsageError, match="no place given"):
        injections([])
    one = find(injections(PLACES, faults=st.just("KeyError")), lambda _: True, settings=QUIET)
    assert one == Injection(PLACES[0], "KeyError")


TARGET = """
import os

class Client:
    def __init__(self):
        self.pid = os.getpid()
        self.inbox, self.outbox = os.pipe()
        os.getppid()
        os.getuid()

    def close(self):
        os.close(self.inbox)
        os.close(self.outbox)
"""


@pytest.fixture
def swept(tmp_path: Path) -> Iterator[SweptTarget]:
    (tmp_path / "drawn.py").write_text(TARGET)
    target = SweptTarget(
        "drawn:Client", release="close", faults=["KeyboardInterrupt", RuntimeError], directory=tmp_path
    )
    yield target
    target.close()


def test_the_cases_of_a_target_are_judged_apart_and_shrink_to_the_first_that_leaks(
    swept: SweptTarget,
) -> None:
    seen: dict[str, bool] = {}

    def leaks(case: Case) -> bool:
        if case.id not in seen:
            seen[case.id] = swept.judge(case).violation
        return seen[case.id]

    smallest = find(swept.cases(), leaks, settings=settings(QUIET, max_examples=30))
    assert (smallest.point.callee, smallest.point.phase, smallest.fault) == (
        "posix:getppid", "before", "RuntimeError"
    )  # fmt: skip
    assert swept.replay(smallest).startswith(f"faultinject replay {smallest.id} --target drawn:Client")
    assert swept.places() == ["posix:getpid", "posix:pipe", "posix:getppid", "posix:getuid"]
