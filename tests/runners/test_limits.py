"""A screen takes as long as it has points: it is only asked to go on. A recording has its time."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from faultinject.facts import Observation
from faultinject.runners import Expectation, Record, Screen, Settings, _lane
from faultinject.runners._lane import Case
from faultinject.runners._messages import Message, Observed, encode
from faultinject.targets import TargetSpec

LIMIT = 60.0
Watch = Callable[[Message, int], bool]


@pytest.fixture(autouse=True)
def one_second_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reading of the clock is a second after the one before."""
    seconds = iter(range(10_000))
    monkeypatch.setattr(_lane, "time", SimpleNamespace(monotonic=lambda: float(next(seconds))))


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watch]:
    """Watches a process that says so many things, each when the one before was passed on, or, told to say
    nothing, waits; whether it had to be ended."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    inside, outside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def watch(order: Message, said: int) -> bool:
        case = Case(ours, None, TargetSpec("some:thing"), str(tmp_path), order)
        pid = os.fork()
        if pid == 0:
            try:
                for number in range(said):
                    inside.sendall(encode(Observed(Observation(str(number), "fork"))))
                    theirs.recv(1 << 16)
                if not said:
                    signal.pause()
            finally:
                os._exit(0)
        try:
            return case._watch(pid, outside, LIMIT)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    yield watch
    for one in (ours, theirs, inside, outside):
        one.close()


def screen() -> Screen:
    return Screen((), Settings(), Expectation())


def test_a_screen_that_goes_on_is_not_ended_however_long_it_takes(watched: Watch) -> None:
    assert not watched(screen(), 4 * int(LIMIT))


def test_a_screen_that_is_silent_for_its_limit_is_ended(
    watched: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_lane, "_LOOK_AT_LOG", 0.001)
    assert watched(screen(), 0)


def test_a_recording_has_its_limit_whatever_it_says(watched: Watch) -> None:
    assert watched(Record(Settings()), 4 * int(LIMIT))
