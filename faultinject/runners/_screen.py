"""The fork runner: the target runs once, and a copy of the process fails at each point.

A copy has only the thread that forked, and the original's child processes are not its own; so what it
sees is a screen, to be confirmed by a process in which everything is as in life.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from types import FrameType

from faultinject.backends import choose_backend
from faultinject.backends._forks import copying
from faultinject.facts import Case, Observation, Phase
from faultinject.faults import make, parse_fault
from faultinject.probes import ProbeSet
from faultinject.runners._case import CaseRun, objects_before
from faultinject.runners._construct import Constructor
from faultinject.runners._messages import Screen
from faultinject.targets import Target
from faultinject.tracking import Identifier, Ledger, Site, Tracker

_REPORTED = 81
"""Exit status of a copy that has said what it saw; with any other, 0 too, the target ended it."""

Place = tuple[str, str, str, int, tuple[str, ...]]


class Child:
    """A forked copy on its way.

    Args:
        handle: a descriptor, open already, that becomes the copy's.
    """

    def __init__(self, pid: int, case: Case, until: float, handle: int) -> None:
        self.pid = pid
        self.case = case
        self.until = until
        self.handle = handle
        new = os.pidfd_open(pid)
        os.dup2(new, handle, inheritable=False)
        os.close(new)


class Screener:
    """Forks at each point that has a case, and goes on in the original.

    Args:
        report: sends an observation out; used by the copies too.
    """

    def __init__(
        self, order: Screen, target: Target, probes: ProbeSet, report: Callable[[Observation], None]
    ) -> None:
        self.order = order
        self.target = target
        self.probes = probes
        self.report = report
        self.run: CaseRun | None = None
        self.children: dict[int, Child] = {}
        self.waiting: dict[Place, list[Case]] = {}
        for case in order.cases:
            self.waiting.setdefault(_place(case), []).append(case)
        for fault in {case.fault for case in order.cases}:
            spec = parse_fault(fault)
            if spec.kind == "exception":
                make(spec)  # its class is made here once, not by each copy

    def at(self, site: Site, phase: Phase, frame: FrameType, tracker: Tracker) -> None:
        if self.run is not None:
            return
        cases = self.waiting.pop((phase, site.caller, site.callee, site.occurrence, site.stack), None)
        if cases:
            # Once for all the copies of this point.
            tracker.look_before_fault(frame, site, phase)
        for case in cases or ():
            while len(self.children) >= max(1, self.order.jobs):
                self._wait()
            with copying():
                pid = os.fork()
            if pid == 0:
                self._become(case, site, phase, frame, tracker)
                return  # A signal's handler need not raise.
            until = time.monotonic() + self.order.settings.time_limit
            self.children[pid] = Child(pid, case, until, self.handles.pop())

    def _become(self, case: Case, site: Site, phase: Phase, frame: FrameType, tracker: Tracker) -> None:
        """From here on this process is the copy that runs `case`."""
        self.constructor.pid = os.getpid()
        self.children.clear()
        tracker.looked = True
        run = self.run = CaseRun(
            self.target, self.probes, case, self.order.settings, self.order.expectation, self._once, "fork"
        )
        tracker.second = run.second.awaited if run.second is not None else None
        assert tracker.ledger is not None
        run.keep_exception = any(probe == "threads" for probe, _ in tracker.ledger.live)
        if self.target.in_copy is not None:
            run.not_judged = self.target.in_copy()
        tracker.handler = None
        tracker.watch.on_handled = self._handled
        run.armed.fire(site, phase, frame, tracker)

    def _once(self, observation: Observation) -> None:
        self._last = observation

    def _handled(self, name: str) -> None:
        """A frame beneath the target swallowed the fault: going on without the threads could only hang."""
        run = self.run
        assert run is not None
        tracker = self._tracker
        assert tracker.fault is not None
        if tracker.watch.root_returned or name in {own for _, own in tracker.fault.path[: tracker.fault.own]}:
            return
        self.report(
            Observation(
                run.case.id,
                "fork",
                reached=True,
                stage="done",
                place=tracker.fault.place,
                fault_stack=tuple(n for _, n in tracker.fault.path),
                own=tracker.fault.own,
                step=tracker.fault.step,
                handled_by=name,
                returned=True,
                seconds=time.perf_counter() - run.started,
                owned=tuple(o.name for o in tracker.owned),
                lines=tracker.lines.found() if tracker.lines is not None else (),
            )
        )
        os._exit(_REPORTED)

    def sweep(self) -> None:
        """Run the target once, forking on the way; returns in the original only."""
        settings, expectation = self.order.settings, self.order.expectation
        constructor = self.constructor = Constructor(self.target, expectation.release)
        call = constructor.prepare()
        lent = {**objects_before(), **{id(one): type(one) for one in (*call[1], *call[2].values())}}
        # One for each copy at a time, there before the ledger begins: opened on the way, they would look
        # like the target's own.
        self.handles = [os.pidfd_open(os.getpid()) for _ in range(max(1, self.order.jobs))]
        ledger = Ledger(self.probes, self.probes.snapshot("cheap"))
        backend = choose_backend(settings.backend, settings.attributes)
        tracker = self._tracker = Tracker(
            Identifier(settings.level, settings.depth),
            ledger,
            self,
            backend,
            dense=settings.level not in ("steps", "opcodes"),
            owners=expectation.owners,
            leave_out_guards=not settings.include_cleanup,
            leave_out_finalizers=not settings.include_finalizers,
            lent=lent,
            own=self.target.own,
            second_owners=expectation.second_owners,
        )
        tracker.follow_lines(settings.cover)
        backend.install(tracker, tracker.is_root if settings.level == "opcodes" else None)
        held = list(constructor.construct(call))
        run = self.run
        if run is not None:
            run.held = held
            del held
            run.settings = settings
            run.finish(constructor, tracker, backend, call, cost="cheap")
            self.report(self._last)
            os._exit(_REPORTED)
        backend.remove()
        while self.children:
            self._wait()
        for handle in self.handles:
            os.close(handle)
        if held[1] is None:
            # Its threads would keep this process from ending.
            constructor.release(held[0], call[0])
        for cases in self.waiting.values():
            for case in cases:
                self.report(
                    Observation(case.id, "fork", reached=False, stage="done", returned=held[1] is None)
                )

    def _wait(self) -> None:
        """Wait for one copy to end, or for its time limit."""
        now = time.monotonic()
        soonest = min(child.until for child in self.children.values())
        poll = select.poll()
        by_handle = {child.handle: child for child in self.children.values()}
        for handle in by_handle:
            poll.register(handle, select.POLLIN)
        ready = poll.poll(max(0.0, soonest - now) * 1000 + 1)
        for handle, _ in ready:
            self._reap(by_handle[handle], timed_out=False)
        if not ready:
            for child in list(self.children.values()):
                if child.until <= time.monotonic():
                    os.kill(child.pid, signal.SIGKILL)
                    self._reap(child, timed_out=True)

    def _reap(self, child: Child, *, timed_out: bool) -> None:
        _, status = os.waitpid(child.pid, 0)
        del self.children[child.pid]
        self.handles.append(child.handle)
        code = os.waitstatus_to_exitcode(status)
        if timed_out or code != _REPORTED:
            self.report(
                Observation(
                    child.case.id,
                    "fork",
                    reached=True,
                    stage="fault",
                    step=child.case.point.step,
                    exit_status=code,
                    timed_out=timed_out,
                    seconds=self.order.settings.time_limit if timed_out else 0.0,
                )
            )


def _place(case: Case) -> Place:
    point = case.point
    return (point.phase, point.caller, point.callee, point.occurrence, point.stack)
