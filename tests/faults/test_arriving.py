"""A signal that is pending between two instructions."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from types import FrameType

import pytest

from faultinject.faults import arriving


@pytest.fixture
def handled() -> Iterator[list[str]]:
    """The names of the frames in which the handler of SIGUSR1 ran."""
    names: list[str] = []

    def handler(number: int, frame: FrameType | None) -> None:
        assert frame is not None
        names.append(frame.f_code.co_name)

    old = signal.signal(signal.SIGUSR1, handler)
    yield names
    signal.signal(signal.SIGUSR1, old)


def begins() -> None: ...


def test_it_is_handled_at_the_next_check_of_whoever_the_sender_returns_to(handled: list[str]) -> None:
    send = arriving(signal.SIGUSR1)

    def sends() -> None:
        send["now"]

    def goes_on() -> list[str]:
        sends()
        seen = [*handled]  # no call: no check
        begins()
        return seen

    assert goes_on() == []
    assert handled == ["begins"]


def test_a_call_after_it_is_where_it_is_handled(handled: list[str]) -> None:
    send = arriving(signal.SIGUSR1)

    def sends() -> None:
        send["now"]
        len(handled)

    sends()
    assert handled == ["sends"]
