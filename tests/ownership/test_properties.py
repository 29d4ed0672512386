"""Whatever fails, and whatever then fails of the releases: the transaction does what a simple model says."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from engine import OwnershipTransaction, transactional

How = Literal["works", "ValueError", "KeyboardInterrupt", "SystemExit", "GeneratorExit", "SIGINT", "hangs"]
SECOND: dict[How, type[BaseException]] = {
    "ValueError": ValueError,
    "KeyboardInterrupt": KeyboardInterrupt,
    "SystemExit": SystemExit,
    "GeneratorExit": GeneratorExit,
}
FIRST = (RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit)
SHORT = 0.01
"""Seconds, for a release that will not end."""


@dataclass(frozen=True)
class Release:
    """One release, and how it goes."""

    how: How = "works"


@dataclass(frozen=True)
class Resource:
    """Something that is to be acquired.

    Attributes:
        comes: whether its constructor succeeds; if not, the construction goes on without it.
        own: handed to `own` instead of being made by `acquire`.
        here: released without a deadline, in the thread of the construction; never where it hangs.
    """

    releases: tuple[Release, ...]
    comes: bool = True
    own: bool = False
    here: bool = False

    @property
    def deadline(self) -> float | None:
        if any(release.how == "hangs" for release in self.releases):
            return SHORT
        return None if self.here else 30.0


@dataclass(frozen=True)
class Plan:
    """A construction: acquisitions, and the failure after them; none if it succeeds."""

    resources: tuple[Resource, ...]
    order: tuple[int, ...]
    fails: type[BaseException] | None

    @property
    def size(self) -> tuple[object, ...]:
        """How much there is of it: how many releases, how much of an order, and the failure."""
        return sum(len(one.releases) for one in self.resources), len(self.order), self.fails

    def expected(self) -> list[tuple[int, int]]:
        """The model: which release of which resource begins, in which order."""
        if self.fails is None:
            return []
        owned = [number for number, one in enumerate(self.resources) if one.comes]
        unnamed = [number for number in reversed(owned) if number not in self.order]
        named = [number for number in self.order if number in owned]
        return [
            (number, index)
            for number in (*unnamed, *named)
            for index in range(len(self.resources[number].releases))
        ]


@st.composite
def plans(draw: st.DrawFn, hows: tuple[How, ...] = ("works", *SECOND, "SIGINT", "hangs")) -> Plan:
    release = st.builds(Release, st.sampled_from(hows))
    resource = st.builds(
        Resource,
        st.lists(release, min_size=1, max_size=3).map(tuple),
        comes=st.sampled_from((True, True, False)),
        own=st.booleans(),
        here=st.booleans(),
    )
    resources = draw(st.lists(resource, max_size=5))
    order = draw(st.lists(st.sampled_from(range(6)), unique=True, max_size=4))
    fails = draw(st.sampled_from((*FIRST, None)))
    return Plan(tuple(resources), tuple(order), fails)


@dataclass
class Run:
    """What happened when a plan was carried out."""

    plan: Plan
    begun: list[tuple[int, int]] = field(default_factory=list)
    given: BaseException | None = None
    left: BaseException | None = None
    handled: list[int] = field(default_factory=list)
    """For each SIGINT that was handled, how many releases had begun."""

    free: threading.Event = field(default_factory=threading.Event)
    transaction: OwnershipTransaction | None = None

    def construct(self, transaction: OwnershipTransaction) -> str:
        self.transaction = transaction
        for number, one in enumerate(self.plan.resources):
            releases = [self.release(number, index, each) for index, each in enumerate(one.releases)]
            common: dict[str, Any] = {"release": releases, "deadline": one.deadline}
            if one.comes and one.own:
                transaction.own(str(number), number, **common)
                continue
            try:
                transaction.acquire(str(number), self.make, number, one.comes, **common)
            except LookupError:
                assert not one.comes
        if self.plan.fails is not None:
            self.given = self.plan.fails("first")
            raise self.given
        return "whole"

    def make(self, number: int, comes: bool) -> int:
        if not comes:
            raise LookupError(number)
        return number

    def release(self, number: int, index: int, release: Release) -> Callable[[int], None]:
        def run(value: int) -> None:
            assert value == number
            self.begun.append((number, index))
            if release.how == "SIGINT":
                signal.raise_signal(signal.SIGINT)
            elif release.how == "hangs":
                self.free.wait()
            elif release.how != "works":
                raise SECOND[release.how]("second")

        return run

    def wrong(self) -> str:
        """What differs from the model, in words; ``""`` if nothing does."""
        if self.begun != self.plan.expected():
            return f"released {self.begun} instead of {self.plan.expected()}"
        if self.left is not self.given:
            return f"{self.left!r} left instead of {self.given!r}"
        if self.given is not None and (self.given.__context__ or self.given.__cause__):
            return "the first exception has got a context"
        told = any(
            self.plan.resources[number].releases[index].how == "SIGINT" for number, index in self.begun
        )
        if self.handled != [len(self.begun)] * told:
            return f"SIGINT was handled after {self.handled} releases"
        assert self.transaction is not None
        ends = [one.what for one in self.transaction.record if one.name.count(".")]
        if ends != [self.end_of(number, index) for number, index in self.begun]:
            return f"the record says {ends}"
        if self.plan.fails is None and self.transaction.state != "committed":
            return "it was not committed"
        return ""

    def end_of(self, number: int, index: int) -> str:
        how = self.plan.resources[number].releases[index].how
        return {"works": "released", "SIGINT": "released", "hangs": "abandoned"}.get(how, "release failed")


@contextmanager
def told(run: Run) -> Iterator[None]:
    """SIGINT goes to the run, and what hangs is freed at the end."""

    def handle(number: int, frame: FrameType | None) -> None:
        run.handled.append(len(run.begun))

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        run.free.set()
        for thread in threading.enumerate():
            if thread.name.startswith("release of "):
                thread.join()


LOGGER = logging.Logger("a test's own")
LOGGER.addHandler(logging.NullHandler())


def in_a_block(plan: Plan, kind: type[OwnershipTransaction] = OwnershipTransaction) -> Run:
    run = Run(plan)
    with told(run):
        try:
            with kind("test", order=list(map(str, plan.order)), grace=SHORT, logger=LOGGER) as transaction:
                run.construct(transaction)
        except BaseException as error:
            run.left = error
    return run


def decorated(plan: Plan) -> Run:
    run = Run(plan)
    construct = transactional("test", order=list(map(str, plan.order)), grace=SHORT, logger=LOGGER)(
        Run.construct
    )
    with told(run):
        try:
            assert construct(run) == "whole"
        except BaseException as error:
            run.left = error
    return run


def restarted(plan: Plan) -> Run:
    """A rollback asked for twice, the second time by one of its own releases."""
    run = Run(plan)
    with told(run):
        transaction = OwnershipTransaction(
            "test", order=list(map(str, plan.order)), grace=SHORT, logger=LOGGER
        )
        try:
            run.construct(transaction)
            transaction.commit()
        except BaseException as error:
            run.left = error
            _ = [*transaction.rollback()]
            _ = [*transaction.rollback()]
    return run


pytestmark = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals are the main thread's"
)
SETTINGS = settings(
    max_examples=60,
    deadline=None,
    database=None,
    derandomize=False,
    suppress_health_check=[HealthCheck.too_slow],
)


@pytest.mark.parametrize("form", [in_a_block, decorated, restarted])
@SETTINGS
@given(plan=plans())
def test_a_transaction_does_what_the_model_says(form: Callable[[Plan], Run], plan: Plan) -> None:
    assert form(plan).wrong() == ""


class OldestFirst(OwnershipTransaction):
    """Has the order wrong."""

    def _in_order(self) -> list[Any]:
        return [one for one in self._owned if one.values]


class NotIsolated(OwnershipTransaction):
    """Lets what a release raises out."""

    def _release(self, owned: Any, release: Any) -> None:
        super()._release(owned, release)
        if self.record[-1].what == "release failed":
            raise ValueError("second")


class ReleasesTheUnmade(OwnershipTransaction):
    """Owns what never came back from its constructor."""

    def _new(self, name: str, *arguments: Any) -> Any:
        owned = super()._new(name, *arguments)
        owned.values.append(int(name))
        return owned


class DoesNotHold(OwnershipTransaction):
    """Lets a signal in."""

    def rollback(self) -> Iterator[None]:
        self._signals.hold = lambda: None  # type: ignore[method-assign]
        return super().rollback()


WORKS, FAILS, TOLD = Release(), Release("ValueError"), Release("SIGINT")


def only(*releases: Release) -> Plan:
    return Plan((Resource(releases),), (), RuntimeError)


BROKEN = [
    (OldestFirst, Plan((Resource((WORKS,)), Resource((WORKS,))), (), RuntimeError)),
    # One that comes out is caught around the rollback, which goes on; the next comes out of that.
    (NotIsolated, only(FAILS, FAILS)),
    (ReleasesTheUnmade, Plan((Resource((WORKS,), comes=False),), (), RuntimeError)),
    (DoesNotHold, only(TOLD, WORKS)),
]


@pytest.mark.parametrize(("kind", "smallest"), BROKEN, ids=[kind.__name__ for kind, _ in BROKEN])
def test_a_broken_transaction_is_found_and_shrunk_to_the_least_that_shows_it(
    kind: type[OwnershipTransaction], smallest: Plan
) -> None:
    found = find(
        plans(("works", *SECOND, "SIGINT")),
        lambda plan: in_a_block(plan, kind).wrong() != "",
        settings=settings(SETTINGS, max_examples=100, phases=(Phase.generate, Phase.shrink)),
    )
    assert found.size == smallest.size, found
