"""The fault of a case, waiting at its point."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from types import FrameType

from faultinject.facts import Case, Phase
from faultinject.faults import FaultSpec, deliver, make, parse_faults
from faultinject.runners._arrival import Arrival
from faultinject.tracking import Site, Tracker


class Armed:
    """Raises one fault at one point, and again as often as the case says.

    Nothing here keeps an exception in a variable while it is on its way: its traceback holds these
    frames, and it would hold itself.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self.phase: Phase = case.point.phase
        self.names = (case.point.caller, case.point.callee, case.point.occurrence)
        self.spec: FaultSpec = parse_faults(case.fault)[0]
        self.arguments: tuple[object, ...] | None = None
        self.on_fire: Callable[[], None] | None = None
        self.arrival = Arrival(self.spec.signal) if self.spec.kind == "signal" else None
        self._injected: list[weakref.ref[BaseException]] = []
        self._box: list[BaseException] = []

    def at(self, site: Site, phase: Phase, frame: FrameType, tracker: Tracker) -> None:
        """Raise the fault if this is its point."""
        if phase != self.phase or (site.caller, site.callee, site.occurrence) != self.names:
            return
        if site.stack == self.case.point.stack:
            self.fire(site, phase, frame, tracker)

    def fire(self, site: Site, phase: Phase, frame: FrameType, tracker: Tracker) -> None:
        """Raise the case's fault at `site`."""
        self.tracker = tracker
        strike = self._signal if self.spec.kind == "signal" else self._raise
        if self.spec.kind != "signal":
            self._make()
        if self.on_fire is not None:
            self.on_fire()
        if self.arrival is not None and self.arrival.can_wait(site):
            self.arrival.begin(site, frame, tracker)
            return
        tracker.fire(strike, site, phase, frame, more=self.case.times - 1)

    def is_injected(self, exception: BaseException) -> bool:
        """Whether `exception` is one that this case raised: by identity, never by its message."""
        if self._injected:
            return any(one() is exception for one in self._injected)
        fault = self.tracker.fault if hasattr(self, "tracker") else None
        return fault is not None and fault.identity == id(exception)

    def first(self) -> BaseException | None:
        """The first exception raised, if it is still alive."""
        return self._injected[0]() if self._injected else None

    def _make(self) -> None:
        exception = make(self.spec, f"{self.phase} {self.case.point.callee}")
        self.arguments = exception.args
        with contextlib.suppress(TypeError):
            self._injected.append(weakref.ref(exception))
        self._box.append(exception)

    def _raise(self) -> None:
        assert self.tracker.fault is not None
        if not self._box:
            self._make()
        self.tracker.fault.identity = id(self._box[0])
        raise self._box.pop()

    def _signal(self) -> None:
        assert self.tracker.fault is not None
        try:
            deliver(self.spec)
        except BaseException as exception:
            self.tracker.fault.identity = id(exception)
            raise
