"""A backend that pauses hears nothing, and then hears again."""

from __future__ import annotations

from faultinject.backends import choose_backend
from faultinject.runners._construct import invoke
from faultinject.tracking import Identifier, Tracker
from tests.tracking._follow import Recorder


def first() -> None: ...


def meanwhile() -> None: ...


def last() -> None: ...


def test_what_is_called_in_a_pause_is_not_heard() -> None:
    backend, recorder = choose_backend(), Recorder("sites")
    tracker = Tracker(Identifier("sites"), None, recorder, backend)

    def target() -> None:
        first()
        backend.pause()
        meanwhile()
        backend.resume()
        last()

    backend.install(tracker)
    try:
        _, failure = invoke(target, (), {})
    finally:
        backend.remove()

    heard = {point.callee.partition(":")[2] for point in recorder.points}
    assert failure is None
    assert {"first", "last"} <= heard
    assert "meanwhile" not in heard
