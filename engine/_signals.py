"""Holding SIGINT and SIGTERM while a rollback runs, and letting them go afterwards."""

from __future__ import annotations

import _thread
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from itertools import repeat
from types import FrameType
from typing import Any

HELD = (signal.SIGINT, signal.SIGTERM)
"""What a person and a supervisor stop a process with; every other signal keeps its handler."""


class HeldSignals:
    """Keeps the signals that arrive while it holds, so that none of them cuts a clean-up short.

    CPython runs signal handlers in the main thread only, whichever thread the kernel interrupts
    (https://docs.python.org/3/library/signal.html#signals-and-threads), and lets no other thread set
    one. So in any other thread there is nothing to hold, and `hold` does nothing.

    Attributes:
        arrived: what came, in its order. Sent again together, those of one number arrive as one.
    """

    def __init__(self) -> None:
        self.arrived: list[int] = []
        self._previous: dict[int, Any] = {}

    def hold(self) -> None:
        """Take the two signals over. Calling it again goes on where an interrupted call stopped."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in HELD:
            previous = signal.getsignal(number)
            # None: set by other than Python, and not to be put back by it. Ignored: nothing to hold.
            if previous not in (None, signal.SIG_IGN, self._note):
                self._previous[number] = previous
                signal.signal(number, self._note)

    def let_go(self) -> None:
        """Put the handlers back. Calling it again goes on where an interrupted call stopped."""
        for number in tuple(self._previous):
            # Somebody's handler may have come in between, such as a release's: that one stays.
            if signal.getsignal(number) == self._note:
                signal.signal(number, self._previous[number])
            del self._previous[number]

    def again(self, number: int) -> None:
        """Count `number` as arrived: it came just before it could be held.

        Not where Python does not handle it: then what was raised is not of that signal's making.
        """
        if callable(self._previous.get(number, signal.getsignal(number))):
            self._note(number, None)

    def resend(self) -> Iterator[None]:
        """Sends what arrived once more, when and as far as the iterator is run.

        It is all C, on purpose: unpacked as ``[*signals.resend()]`` it marks the signals as pending without
        a single check of the interpreter's in between, so that the frame which does so can still leave by
        ``raise``, with the exception it has in hand. The handlers then run in its caller.
        A check happens at the start of a function, at a jump backwards and after a call
        (``CHECK_EVAL_BREAKER`` in CPython's ``Python/ceval.c`` and ``Python/bytecodes.c``), and at none of
        unpacking, ``raise`` and ``return``.
        """
        # Each leaves the list as it is sent: one that is interrupted before it begins loses nothing.
        return map(_send, map(self.arrived.pop, repeat(0, len(self.arrived))))

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.arrived.append(number)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Hold SIGINT and SIGTERM in the block; what came meanwhile is handled after it."""
    signals = HeldSignals()
    signals.hold()
    try:
        yield
    finally:
        signals.let_go()
        default_action(signals.arrived)
        _ = [*signals.resend()]


_send: Callable[[int], None] = _thread.interrupt_main  # type: ignore[assignment]
"""As if the signal had just arrived; one with the default action is ignored by it, see `default_action`."""


def default_action(arrived: list[int]) -> None:
    """Let the kernel act on those of `arrived` that Python does not handle: SIGTERM ends the process."""
    for number in arrived:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.raise_signal(number)
