"""A release of the clean-up fails as well, or never comes back."""

from __future__ import annotations

import contextlib
import gc
import logging
import signal
import socket
import threading
from collections.abc import Callable
from typing import ClassVar

from tests.corpus._parts import Channel, configure
from tests.corpus._specimen import Specimen, at


class Door:
    """Owns nothing that can be seen; to be closed all the same."""

    def __init__(self) -> None:
        self.is_open = True

    def close(self) -> None:
        self.is_open = False


Release = Callable[[], object]


class _Both:
    """Owns a channel, then a door; what they differ in is how they roll back, newest first."""

    roll_back: ClassVar[Callable[[list[Release], BaseException], None]]

    def __init__(self) -> None:
        self.channel: Channel | None = None
        self.door: Door | None = None
        try:
            self.channel = Channel()
            self.door = Door()
            self.size = configure()
        except BaseException as first:
            owned = (self.door, self.channel)
            type(self).roll_back([one.close for one in owned if one is not None], first)
            raise

    def close(self) -> None:
        for one in (self.door, self.channel):
            if one is not None:
                one.close()


def _each_by_itself(releases: list[Release], first: BaseException) -> None:
    for release in releases:
        with contextlib.suppress(BaseException):
            release()


def _until_one_fails(releases: list[Release], first: BaseException) -> None:
    with contextlib.suppress(BaseException):
        for release in releases:
            release()


def _raising_what_they_raise(releases: list[Release], first: BaseException) -> None:
    with contextlib.ExitStack() as stack:
        for release in reversed(releases):
            stack.callback(release)


def _raising_from_the_first(releases: list[Release], first: BaseException) -> None:
    failures = []
    for release in releases:
        try:
            release()
        except BaseException as second:
            failures.append(second)
    if failures:
        raise failures.pop() from first


def _expecting_exceptions(releases: list[Release], first: BaseException) -> None:
    for release in releases:
        with contextlib.suppress(Exception):
            release()


def _until_it_works(releases: list[Release], first: BaseException) -> None:
    for release in releases:
        try:
            release()
        except BaseException:
            release()


class GoesOn(_Both):
    """Done right: a release that fails stops nothing and replaces nothing."""

    roll_back = _each_by_itself


class Waits(_Both):
    """Lets each release take as long as it does: where one hangs, the next is never made."""

    roll_back = _each_by_itself


class StopsAtTheFirst(_Both):
    """A release that fails keeps the next one from being made; the first exception is kept."""

    roll_back = _until_one_fails


class LetsItThrough(_Both):
    """All is released, but what a release raises takes the place of the first exception."""

    roll_back = _raising_what_they_raise


class RaisesItFrom(_Both):
    """With the first exception as its cause it is another exception all the same."""

    roll_back = _raising_from_the_first


class ExpectsExceptions(_Both):
    """A KeyboardInterrupt in a release is no Exception."""

    roll_back = _expecting_exceptions


class TriesAgain(_Both):
    """A release that failed is made a second time."""

    roll_back = _until_it_works


def _in_a_thread(release: Release, seconds: float | None, *, daemon: bool = True) -> None:
    def run() -> None:
        with contextlib.suppress(BaseException):
            release()

    helper = threading.Thread(target=run, name="release", daemon=daemon)
    helper.start()
    helper.join(seconds)


def _under_a_deadline(releases: list[Release], first: BaseException) -> None:
    for release in releases:
        _in_a_thread(release, 0.4)


def _holding_signals(releases: list[Release], first: BaseException) -> None:
    held: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, frame: held.append(number))
    try:
        _under_a_deadline(releases, first)
    finally:
        signal.signal(signal.SIGINT, handler)
    if held:
        logging.getLogger(__name__).warning("interrupted while the clean-up ran")


def _in_threads(releases: list[Release], first: BaseException) -> None:
    for release in releases:
        _in_a_thread(release, None)


def _in_threads_that_stay(releases: list[Release], first: BaseException) -> None:
    for release in releases:
        _in_a_thread(release, 0.4, daemon=False)


def _the_oldest_in_a_thread(releases: list[Release], first: BaseException) -> None:
    for release in releases[-1:]:
        _in_a_thread(release, 0.4)


def _in_threads_and_again(releases: list[Release], first: BaseException) -> None:
    _under_a_deadline(releases, first)
    _each_by_itself(releases[:1], first)


def _oldest_first_in_threads(releases: list[Release], first: BaseException) -> None:
    _under_a_deadline(releases[::-1], first)


class GivesUpOnIt(_Both):
    """Done right: each release in a thread of its own, for as long as its deadline allows."""

    roll_back = _under_a_deadline


class IsInterrupted(_Both):
    """A signal that comes while the clean-up waits for a thread ends it."""

    roll_back = _under_a_deadline


class HoldsSignals(_Both):
    """Done right: a signal that comes while the clean-up waits for a thread does not end it."""

    roll_back = _holding_signals


class WaitsForTheThread(_Both):
    """Each in a thread of its own, without a deadline."""

    roll_back = _in_threads


class KeepsTheProgramFromEnding(_Both):
    """The thread in which a release hangs is one that the interpreter waits for at its end."""

    roll_back = _in_threads_that_stay


class ForgetsOneInAThread(_Both):
    """Releases the channel in a thread, and not the door."""

    roll_back = _the_oldest_in_a_thread


class OnceInAThreadOnceNot(_Both):
    """The newest is released by a thread, and then once more."""

    roll_back = _in_threads_and_again


class OldestFirstInThreads(_Both):
    """Releases in threads, in the wrong order."""

    roll_back = _oldest_first_in_threads


class StaysFrozen:
    """A channel that cannot be closed keeps the collector frozen."""

    roll_back: ClassVar[Callable[[list[Release], BaseException], None]] = _until_one_fails
    thaws_last: ClassVar[bool] = True

    def __init__(self) -> None:
        self.channel: Channel | None = None
        self.frozen = False
        try:
            self.channel = Channel()
            gc.freeze()
            self.frozen = True
            self.size = configure()
        except BaseException as first:
            type(self).roll_back(self.releases(), first)
            raise

    def releases(self) -> list[Release]:
        due: list[Release] = [gc.unfreeze] if self.frozen else []
        if self.channel is not None:
            due.insert(0 if self.thaws_last else len(due), self.channel.close)
        return due

    def close(self) -> None:
        for release in self.releases():
            release()


class Thaws(StaysFrozen):
    """The same, done right."""

    roll_back = _each_by_itself


class ThawsFirst(StaysFrozen):
    """Where the collector cannot be thawed, the channel stays open."""

    thaws_last = False


class KeepsTheSocket:
    """Objects of the standard library are released too: a door that cannot be closed keeps a socket open."""

    def __init__(self) -> None:
        self.socket = socket.socket()
        self.door: Door | None = None
        try:
            self.door = Door()
            self.size = configure()
        except BaseException as first:
            owned = (self.door, self.socket)
            _until_one_fails([one.close for one in owned if one is not None], first)
            raise

    def close(self) -> None:
        if self.door is not None:
            self.door.close()
        self.socket.close()


class ClosesTheSocket(KeepsTheSocket):
    """The same, done right; a socket that cannot be closed is excused."""

    def __init__(self) -> None:
        self.socket = socket.socket()
        self.door: Door | None = None
        try:
            self.door = Door()
            self.size = configure()
        except BaseException as first:
            owned = (self.door, self.socket)
            _each_by_itself([one.close for one in owned if one is not None], first)
            raise


_ME = "tests.corpus.second_faults"
_KIND = "a second fault in the clean-up"
_RAISED = ("RuntimeError", "KeyboardInterrupt")
_HANG = ("hang",)
_SLOW = 2.0
"""Seconds after which a case counts as hung; each that does takes them."""
_FREEZE = "GC freeze.gc.unfreeze"


SPECIMENS = (
    Specimen(f"{_ME}:GoesOn", _KIND, second=(*_RAISED, "SIGINT")),
    Specimen(
        f"{_ME}:StopsAtTheFirst", _KIND, "the first failing release ends it", 
        (at("*:configure", "leak", second="door.close/*"),),
        second=(*_RAISED, "SIGINT"),
    ),
    Specimen(
        f"{_ME}:LetsItThrough", _KIND, "a failing release replaces the fault",
        (at("*", "masked", second="?*"),), second=(*_RAISED, "SIGINT"),
    ),
    Specimen(
        f"{_ME}:RaisesItFrom", _KIND, "raise second from first", (at("*", "masked", second="?*"),),
        second=_RAISED,
    ),
    Specimen(
        f"{_ME}:ExpectsExceptions", _KIND, "catches Exception only",
        (
            at("*:configure", "leak", second="door.close/*/KeyboardInterrupt"),
            at("*", "masked", second="*/KeyboardInterrupt"),
        ),
        second=_RAISED,
    ),
    Specimen(
        f"{_ME}:TriesAgain", _KIND, "a release that failed is made again",
        (at("*", "double-release", second="?*"),), second=_RAISED,
    ),
    Specimen(
        f"{_ME}:Waits", _KIND, "hangs with the release", (at("*", "hang", second="?*"),),
        faults=("RuntimeError",), second=_HANG, time_limit=_SLOW,
    ),
    Specimen(f"{_ME}:GivesUpOnIt", _KIND, second=(*_RAISED, *_HANG)),
    Specimen(
        f"{_ME}:IsInterrupted", _KIND, "a signal ends the wait for a thread",
        (at("*:configure", "leak", second="door.close/*"), at("*", "masked", second="?*")),
        faults=("RuntimeError",), second=("SIGINT",),
    ),
    Specimen(f"{_ME}:HoldsSignals", _KIND, faults=("RuntimeError",), second=("SIGINT",)),
    Specimen(
        f"{_ME}:WaitsForTheThread", _KIND, "hangs with the thread", (at("*", "hang", second="?*"),),
        faults=("KeyboardInterrupt",), second=_HANG, time_limit=_SLOW,
    ),
    Specimen(
        f"{_ME}:KeepsTheProgramFromEnding", _KIND, "a thread that is waited for",
        (at("*", "hang", second="?*"),), faults=("RuntimeError",), second=_HANG, time_limit=4.0,
    ),
    Specimen(
        f"{_ME}:ForgetsOneInAThread", _KIND, "one of two, in a thread", (at("*:configure", "leak"),),
        second=("RuntimeError",),
    ),
    Specimen(
        f"{_ME}:OnceInAThreadOnceNot", _KIND, "released by a thread and once more",
        (at("*:configure", "double-release"), at("*:Door.__init__", "double-release")),
        second=("RuntimeError",),
    ),
    Specimen(
        f"{_ME}:OldestFirstInThreads", _KIND, "threads, in the wrong order", (at("*:configure", "order"),),
        second=("RuntimeError",),
    ),
    Specimen(
        f"{_ME}:StaysFrozen", _KIND, "a channel that cannot be closed keeps the freeze",
        (at("*:configure", "state", second="channel.close/*"),),
        second=_RAISED,
    ),
    Specimen(f"{_ME}:Thaws", _KIND, second=(*_RAISED, "SIGINT")),
    Specimen(
        f"{_ME}:ThawsFirst", _KIND, "a collector that cannot be thawed keeps the channel",
        (at("*:configure", "leak", second=f"{_FREEZE}/*"),),
        second=_RAISED,
    ),
    Specimen(
        f"{_ME}:KeepsTheSocket", _KIND, "a door that cannot be closed keeps the socket",
        (at("*:configure", "late", second="door.close/*"),), second=_RAISED,
    ),
    Specimen(f"{_ME}:ClosesTheSocket", _KIND, second=_RAISED),
)  # fmt: skip
