"""Releases in threads that the clean-up starts."""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Callable
from types import FrameType

import pytest

from faultinject.backends import choose_backend
from faultinject.facts import Phase
from faultinject.probes import ProbeSet, load_probes
from faultinject.runners._construct import invoke
from faultinject.tracking import AwaitedRelease, Identifier, Ledger, Site, Tracker


class Thing:
    def close(self) -> None: ...

    def shutdown(self) -> None:
        self.close()


class _Fails(Exception):
    pass


def fail() -> None: ...


class Build:
    """Owns a thing, and gives it back as it is told."""

    def __init__(self, roll_back: Callable[[Thing], None]) -> None:
        self.thing = Thing()
        self.also = make_thing()
        try:
            fail()
        except BaseException:
            roll_back(self.also)
            raise


def make_thing() -> Thing:
    return Thing()


class At:
    """Raises at the call of `fail`."""

    def at(self, site: Site, phase: Phase, frame: FrameType, tracker: Tracker) -> None:
        if site.callee.endswith(":fail") and phase == "before":
            tracker.fire(_raise, site, phase, frame)


def _raise() -> None:
    raise _Fails


def watched(
    roll_back: Callable[[Thing], None], second: AwaitedRelease | None = None
) -> tuple[Tracker, BaseException | None]:
    probes = ProbeSet(load_probes(("fds",), plugins=False))
    backend = choose_backend()
    tracker = Tracker(
        Identifier("steps"), Ledger(probes, probes.snapshot("cheap")), At(), backend,
        owners={f"{__name__}:make_thing#1": "thing"}, second=second,
    )  # fmt: skip
    backend.install(tracker)
    try:
        _, failure = invoke(Build, (roll_back,), {})
    finally:
        backend.remove()
    return tracker, failure


def in_a_thread(call: Callable[[], None]) -> None:
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def calls(tracker: Tracker) -> list[tuple[str, str, bool, bool]]:
    return [(c.name, c.method, c.owned, c.failed) for c in tracker.watch.releases]


def test_a_release_in_a_thread_counts_as_any_other() -> None:
    tracker, failure = watched(lambda thing: in_a_thread(thing.shutdown))
    assert isinstance(failure, _Fails)
    assert calls(tracker) == [("thing", "shutdown", True, False)]
    assert tracker.watch.releases[0].by == f"{__name__}:Build.__init__"


def test_a_release_that_goes_on_in_a_thread_is_one_release() -> None:
    class Deferred(Thing):
        def shutdown(self) -> None:
            in_a_thread(self.close)

    def roll_back(thing: Thing) -> None:
        Deferred.shutdown(thing)  # type: ignore[arg-type]

    tracker, _ = watched(roll_back)
    assert calls(tracker) == [("thing", "shutdown", True, False)]


def test_two_threads_that_release_one_thing_are_two_releases() -> None:
    def roll_back(thing: Thing) -> None:
        in_a_thread(thing.close)
        in_a_thread(thing.close)

    assert calls(watched(roll_back)[0]) == [("thing", "close", True, False)] * 2


def test_a_release_that_fails_in_a_thread_has_failed() -> None:
    class Broken(Thing):
        def close(self) -> None:
            raise OSError("stuck")

    def roll_back(thing: Thing) -> None:
        thing.__class__ = Broken

        def run() -> None:
            with pytest.raises(OSError, match="stuck"):
                thing.close()

        in_a_thread(run)

    assert calls(watched(roll_back)[0]) == [("thing", "close", True, True)]


def test_a_thread_that_was_there_before_the_fault_is_not_heard() -> None:
    ready, go = threading.Event(), threading.Event()
    owned: list[Thing] = []

    def run() -> None:
        ready.set()
        go.wait()
        owned[0].close()

    early = threading.Thread(target=run)
    early.start()
    ready.wait()

    def roll_back(thing: Thing) -> None:
        owned.append(thing)
        go.set()
        early.join()

    assert calls(watched(roll_back)[0]) == []


def test_a_thread_below_threading_is_heard_nowhere() -> None:
    def roll_back(thing: Thing) -> None:
        done = _thread.allocate_lock()
        done.acquire()

        def run() -> None:
            thing.close()
            done.release()

        _thread.start_new_thread(run, ())
        done.acquire()

    assert calls(watched(roll_back)[0]) == []


@pytest.mark.parametrize("phase", ["before", "after"])
def test_a_second_fault_comes_in_the_thread_of_the_release(phase: Phase) -> None:
    raised: list[BaseException] = []
    done: list[str] = []

    class Closes(Thing):
        def close(self) -> None:
            done.append("closed")

    def roll_back(thing: Thing) -> None:
        thing.__class__ = Closes

        def run() -> None:
            for _ in range(2):
                try:
                    thing.close()
                except ValueError as error:
                    raised.append(error)

        in_a_thread(run)

    def strike() -> None:
        raise ValueError

    second = AwaitedRelease("thing", "close", phase, strike)
    tracker, failure = watched(roll_back, second)
    assert isinstance(failure, _Fails)
    assert second.reached
    # Once, and what comes after it in the same thread is heard too.
    assert calls(tracker) == [("thing", "close", True, True), ("thing", "close", True, False)]
    assert len(raised) == 1
    assert len(done) == (1 if phase == "before" else 2)
    names = [frame.f_globals["__name__"] for frame in _frames(raised[0])]
    assert [name for name in names if name.startswith("faultinject.")] == []


def _frames(error: BaseException) -> list[FrameType]:
    found = []
    trace = error.__traceback__
    while trace is not None:
        found.append(trace.tb_frame)
        trace = trace.tb_next
    return found


def test_no_hook_stays_for_later_threads_nor_in_one_that_goes_on() -> None:
    go = threading.Event()
    hooks: list[object] = []
    threads: list[threading.Thread] = []

    def run() -> None:
        go.wait()
        len("")
        hooks.extend([sys.getprofile(), sys.gettrace()])

    def roll_back(thing: Thing) -> None:
        threads.append(threading.Thread(target=run))
        threads[0].start()

    before = threading.getprofile()
    watched(roll_back)
    assert threading.getprofile() is before
    go.set()
    threads[0].join()
    assert hooks == [None, None]


def test_two_threads_look_at_once() -> None:
    probes = ProbeSet(load_probes(("fds", "threads"), plugins=False))
    ledger = Ledger(probes, probes.snapshot("cheap"))
    failures: list[BaseException] = []

    def look() -> None:
        try:
            for _ in range(50):
                ledger.look(lambda: (), 0)
        except BaseException as error:
            failures.append(error)

    both = [threading.Thread(target=look) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert failures == []
    assert ledger.looks == 100
