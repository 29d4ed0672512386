"""A real signal that arrives at an instruction, and is handled at the interpreter's next check."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from faultinject.faults import arriving
from faultinject.tracking import FaultSeen, Site, Tracker, frame_name


class Arrival:
    """Lets a signal come at an instruction as it would in life.

    A signal is only noted where it arrives: the interpreter runs its handler at its next check, and what the
    handler raises comes out there (see `faultinject.faults.arriving`). In between no code of the tool's may
    run in the thread, for that would be where the check is. So hearing pauses, and for that time a
    stand-in is the signal's handler: it lets hearing go on, and calls the real one, with the frame that the
    interpreter gave it.

    Attributes:
        came_late: whether it was handled only when nothing of the target's was on the stack any more.
        outside: where, unless in the tool itself: the target had returned to it.
        held_back: what is to be known of the signal where its handler has not raised: a target may note it,
            and raise later.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.came_late = False
        self.outside = ""
        self.held_back: FaultSeen | None = None
        self._send = arriving(number)
        self._waits = False
        self._frames: list[FrameType] = []

    def can_wait(self, site: Site) -> bool:
        """Whether the signal can arrive at `site`: an instruction of the thread that runs handlers.

        What is no function is the kernel's to carry out, at once.
        """
        return (
            site.kind == "opcode"
            and threading.current_thread() is threading.main_thread()
            and callable(signal.getsignal(self.number))
        )

    def begin(self, site: Site, frame: FrameType, tracker: Tracker) -> None:
        """Send the signal as the instruction begins that `tracker` was told of."""
        self._site, self._tracker = site, tracker
        self._pid = os.getpid()
        self._handler: Callable[[int, FrameType | None], Any] = signal.getsignal(self.number)  # type: ignore[assignment]
        self.held_back = tracker.see_fault(frame, tracker.stack.path(frame))
        tracker.note(f"{signal.Signals(self.number).name} arrives before {site.callee}")
        signal.signal(self.number, self._handle)
        self._waits = True
        # One that the target has blocked is the kernel's until it unblocks it, which may be long.
        self._unheard = self.number not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
        if self._unheard:
            tracker.backend.pause()
            # Kept, so that no frame made meanwhile lies at the address of one of these.
            place: FrameType | None = frame
            while place is not None and id(place) in tracker.stack.ids:
                self._frames.append(place)
                place = place.f_back
        tracker.sent = self._send

    def end(self) -> None:
        """The construction is over: a signal that was not handled until now is not any more."""
        self._frames.clear()
        if self._waits and signal.getsignal(self.number) == self._handle:
            signal.signal(self.number, signal.SIG_IGN)  # the kernel forgets one that it still holds
            signal.signal(self.number, self._handler)
        self._waits = False

    def is_answer(self, exception: BaseException) -> bool:
        """Whether `exception` may be what a target that held the signal back raises for it."""
        return self.number != signal.SIGINT or isinstance(exception, KeyboardInterrupt)

    def adopt(self, exception: BaseException) -> None:
        """Take `exception` for what the signal has caused."""
        fault = self._tracker.fault
        assert fault is not None
        fault.identity = id(exception)
        fault.code = None  # Nobody knows which of the frames it passes raised it for the signal.
        context = exception.__context__
        self._tracker.context_at_fault = id(context) if context is not None else 0

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """The handler for the time between the arrival and the interpreter's next check."""
        signal.signal(number, self._handler)
        self._waits = False
        if frame is None or os.getpid() != self._pid:
            # In a process that the target has forked, the signal is no business of the case's.
            self._handler(number, frame)
            return
        tracker = self._tracker
        inside = tracker.catch_up(frame)
        self._frames.clear()
        if not inside:
            name = frame_name(frame)
            self.outside = "" if name.startswith("faultinject.") else name
            self.came_late = True
            return
        try:
            self._handler(number, frame)
        except BaseException as exception:
            context = exception.__context__
            self.held_back = None
            tracker.begin_unheard(frame)
            tracker.fire(self._hear, self._site, "before", frame)
            assert tracker.fault is not None
            tracker.fault.identity = id(exception)
            tracker.context_at_fault = id(context) if context is not None else 0
            del context
            raise
        tracker.note("its handler returns")
        tracker.on_raised = self._raised
        self._hear(tracker.unheard(frame))

    def _hear(self, began: Sequence[FrameType] = ()) -> None:
        if self._unheard:
            self._tracker.backend.resume(began)

    def _raised(self, frame: FrameType, exception: BaseException) -> None:
        """An exception comes out in an own frame, after the signal's handler had raised none."""
        if self.is_answer(exception):
            self.held_back = None
            self._tracker.fire(lambda: None, self._site, "before", frame)
            self.adopt(exception)
