"""A block of code as the target: a case is a copy of the process that was made where the block begins.

Nothing is imported or called anew. The process that comes to the block forks its lanes there, each lane forks
one copy for each order, and the copy runs on into the block, at whose end it is judged and ends. What had
been made before the block is there in each copy, as it is in life.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn, Self

from faultinject.backends import choose_backend
from faultinject.facts import Observation
from faultinject.runners._case import CaseRun
from faultinject.runners._construct import Constructor
from faultinject.runners._inside import failures_told, leave, probe_set, send_out
from faultinject.runners._lane import InBlock, serve
from faultinject.runners._messages import (
    Done,
    Farewell,
    Message,
    Observed,
    Ready,
    Record,
    Recorded,
    RunCase,
    Settings,
    encode,
)
from faultinject.runners._pool import Pool
from faultinject.runners._record import (
    PointRecorder,
    check_own,
    fails_unharmed,
    holding,
    left_of,
    owned_table,
    steps_of,
)
from faultinject.targets import Call, Target, TargetSpec
from faultinject.tracking import CalledDirectly, Identifier, Ledger, Tracker


def _nothing() -> None:
    """Stands for the call that a block is not."""


_CALL: Call = (_nothing, (), {})
Again = Callable[[], None]


def target_of_block(spec: TargetSpec) -> Target:
    """A block of code as a target; only what is to be known of it before it runs."""
    return Target(spec.name, lambda: _CALL, is_block=True, own=spec.own)


class BlockPool(Pool):
    """Lanes forked from this process, right here; otherwise as any pool.

    Raises:
        InBlock: on entering, in the process of a case: it runs on into the block.
    """

    def __init__(self, spec: TargetSpec, jobs: int) -> None:
        super().__init__(spec, jobs)
        self.target = target_of_block(spec)
        self.children: list[int] = []

    def __enter__(self) -> Self:
        self.directory = tempfile.mkdtemp(prefix="faultinject-")
        self._log_path = os.path.join(self.directory, "log")
        pairs = [socket.socketpair() for _ in range(self.jobs)]
        try:
            for ours, theirs in pairs:
                pid = _fork()
                if pid == 0:
                    self._be_a_lane(theirs, [one for pair in pairs for one in pair if one is not theirs])
                self.children.append(pid)
                theirs.close()
                self.lanes.append(ours)
        except InBlock:
            raise
        except BaseException:
            self.close()
            raise
        self.ready = Ready("", False, False, False, 0.0)
        return self

    def close(self) -> None:
        for lane in self.lanes:
            with contextlib.suppress(OSError):
                lane.sendall(encode(Farewell()))
            lane.close()
        self.lanes = []
        while self.children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.children.pop(), 0)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _be_a_lane(self, connection: socket.socket, others: list[socket.socket]) -> NoReturn:
        lane, status = os.getpid(), 70
        try:
            os.setsid()
            log = os.open(self._log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(log, 2)
            os.close(log)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is the caller's to handle
            for other in others:
                other.close()
            # What this process was to do at its end is not for its copies to do.
            atexit._clear()
            _without_hooks()
            serve(connection, self.target, self.spec, self.directory)
            status = 0
        except InBlock:
            raise
        except BaseException:
            os.write(2, traceback.format_exc().encode(errors="replace"))
        finally:
            if os.getpid() == lane:
                os._exit(status)
        raise AssertionError("a lane comes to its end here")


def _fork() -> int:
    with warnings.catch_warnings():
        # That a process with threads forks: the copy uses none of them, and takes no lock of theirs.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _without_hooks() -> None:
    """Coverage and debuggers of the caller have no say in its copies, and the hook is needed."""
    sys.settrace(None)
    sys.setprofile(None)


class BlockRun:
    """In a case's process: from where the block begins to where it ends.

    Args:
        spec: the name of the block, and further own frames.
        frame: whose block it is.
        again: runs the block once more in this process; `None` where that cannot be done.
    """

    def __init__(self, become: InBlock, spec: TargetSpec, frame: FrameType, again: Again | None) -> None:
        self.order: Message = become.order
        self.outlet = become.outlet
        self.target = target_of_block(spec)
        self.frame = frame
        self.again = again
        for name, number in (("stdout", 1), ("stderr", 2)):
            # Whoever captures the caller's output must not get that of its copies.
            stream = open(number, "w", buffering=1, errors="replace", closefd=False)  # noqa: SIM115 - kept
            setattr(sys, name, stream)
        self.work: _Recorder | _Case

    def prepare(self) -> None:
        """Look at what there is before the block."""
        with self._or_leave():
            if isinstance(self.order, Record):
                self.work = _Recorder(self, self.order)
            else:
                assert isinstance(self.order, RunCase)
                self.work = _Case(self, self.order)

    def begin(self) -> None:
        """Listen from here on. To be called last: what is called after it is the block's doing."""
        try:
            self.work.tracker.adopt(self.frame)
            self.work.backend.install(self.work.tracker)
        except BaseException as error:
            refused = error
        else:
            return
        with self._or_leave():
            raise refused

    def end(self, error: BaseException | None) -> NoReturn:
        """The block has ended: say what it left, and end the process."""
        with self._or_leave():
            self.work.backend.remove()
            self.work.end(error)
            self.tell(Done())
        leave()
        raise AssertionError("the process has ended")

    def tell(self, message: object) -> None:
        send_out(self.outlet, message)

    @contextlib.contextmanager
    def _or_leave(self) -> Any:
        done = False
        with failures_told(self.outlet):
            yield
            done = True
        if not done:
            os._exit(0)


class _Recorder:
    """An unharmed run of the block."""

    def __init__(self, run: BlockRun, order: Record) -> None:
        self.run = run
        self.order = order
        settings, target = order.settings, run.target
        self.probes = probe_set(settings)
        self.ledger = Ledger(self.probes, self.probes.snapshot("all"))
        self.recorder = PointRecorder(settings)
        self.backend = choose_backend(settings.backend, settings.attributes)
        self.tracker = Tracker(
            Identifier(settings.level, settings.depth),
            self.ledger,
            self.recorder,
            self.backend,
            dense=settings.level not in ("steps", "opcodes"),
            leave_out_guards=not settings.include_cleanup,
            leave_out_finalizers=not settings.include_finalizers,
            products=[],
            costly=True,
            own=CalledDirectly(run.frame, target.own),
        )
        self.started = time.perf_counter()

    def end(self, error: BaseException | None) -> None:
        seconds = time.perf_counter() - self.started
        target, settings = self.run.target, self.order.settings
        if error is not None:
            raise fails_unharmed(target, error)
        check_own(target, self.tracker.names)
        holds = holding(self.ledger, target, settings)
        steps = steps_of(self.tracker, target, settings)
        owned, _ = owned_table(steps, [], [], {}, self.tracker)
        residue, notes = self._once(settings)
        self.run.tell(
            Recorded(
                tuple(self.recorder.points),
                tuple(self.recorder.stacks),
                steps,
                owned,
                {},
                residue,
                (),
                holds,
                (),
                "",
                seconds,
                self.tracker.identifier.capped,
                notes=notes,
                frame=self.tracker.roots[0],
                modules=self.recorder.modules(settings.cover),
            )
        )

    def _once(self, settings: Settings) -> tuple[tuple[tuple[str, str, int], ...], tuple[str, ...]]:
        """What the block brings to life once per process, and not again when it runs a second time."""
        again = self.run.again
        if again is None or not self.order.twice:
            return (), ()
        first = left_of(self.ledger, self.run.target, settings)
        try:
            again()
        except Exception as error:
            return (), (f"a second run of the block in one process fails: {type(error).__name__}: {error}",)
        second = left_of(self.ledger, self.run.target, settings)
        states = {entry.probe for entry in self.ledger.live.values() if entry.is_state}
        once = [
            (probe, group, count - (second[probe, group] - count))
            for (probe, group), count in sorted(first.items())
            if probe not in states and second[probe, group] < 2 * count
        ]
        return tuple(once), ()


class _Case:
    """A run of the block in which the fault of a case comes."""

    def __init__(self, run: BlockRun, order: RunCase) -> None:
        self.run = run
        self.case = CaseRun(
            run.target, probe_set(order.settings), order.case, order.settings, order.expectation,
            self._report, "zygote",
        )  # fmt: skip
        own = CalledDirectly(run.frame, run.target.own)
        self.tracker, self.backend = self.case.arm(_CALL, own)

    def _report(self, observation: Observation) -> None:
        self.run.tell(Observed(observation))

    def end(self, error: BaseException | None) -> None:
        case = self.case
        case.held = _Held([None, error])
        del error
        if case.held[1] is None and self.tracker.fault is not None:
            case.swallowed_by(self.tracker.roots[0])
        case.finish(Constructor(self.run.target), self.tracker, self.backend, _CALL, cost="all")
        case.done()


class _Held(list[Any]):
    """The exception of a block, which the interpreter itself holds until the block's frame has gone on.

    To let it go, its frames are cleared and its traceback is taken off: what only they held goes.
    """

    def clear(self) -> None:
        error = self[1] if len(self) > 1 else None
        super().clear()
        seen: set[int] = set()
        while isinstance(error, BaseException) and id(error) not in seen:
            seen.add(id(error))
            traceback.clear_frames(error.__traceback__)
            place = error.__traceback__
            while place is not None:
                # Python 3.11 keeps what was once asked for of a frame's variables, and brings it up to
                # date only when it is asked again.
                _ = place.tb_frame.f_locals
                place = place.tb_next
            error.__traceback__ = None
            error = error.__cause__ or error.__context__
