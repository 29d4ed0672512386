"""One release, under a deadline: run, escalate, and at last abandon."""

from __future__ import annotations

import contextvars
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

R = TypeVar("R")


@dataclass(frozen=True)
class Outcome:
    """How a release went.

    Attributes:
        finished: whether it came back, by returning or by raising.
        error: what it raised.
        escalated: whether its time ran out and the escalation was begun.
        stack: where it was stuck, if it was abandoned.
        unprepared: what the preparation raised; the release ran all the same.
    """

    finished: bool
    error: BaseException | None = None
    escalated: bool = False
    stack: str = ""
    unprepared: tuple[BaseException, ...] = ()


class _Helper(threading.Thread):
    """Runs one call. A daemon, so that a call that never ends does not keep the interpreter from ending."""

    def __init__(self, name: str, call: Callable[[], object]) -> None:
        super().__init__(name=name, daemon=True)
        self._call: Callable[[], object] | None = call
        self.error: BaseException | None = None
        self.finished = False

    def run(self) -> None:
        try:
            assert self._call is not None
            self._call()
        except BaseException as error:
            self.error = error
        finally:
            # The thread object outlives the call: it must not keep alive what was just released.
            self._call = None
            self.finished = True


def run_release(
    name: str,
    call: Callable[[], object],
    *,
    deadline: float | None,
    grace: float,
    escalate: Callable[[], object] | None = None,
    prepare: Callable[[], Callable[[], object] | None] | None = None,
) -> Outcome:
    """Run `call` to its end, or no longer than its deadline allows.

    With a deadline it runs in a thread of its own, with the context variables of this one: there is no
    other way to give up on a call that sits in C code. Once the deadline has passed, `escalate` is run the
    same way (it ends the processes that `call` waits for, say), and `call` has `grace` more to come back.
    Whatever it raises, KeyboardInterrupt and SystemExit included, is in the outcome and goes no further.

    Args:
        deadline: seconds; None runs it here, for as long as it takes.
        grace: seconds for the escalation, and then for `call` to come back after it.
        prepare: called here; what it returns is run first in the new thread, for state that belongs to a
            thread (the current device).
    """
    if deadline is None:
        return _run_here(call)
    context = contextvars.copy_context()
    unprepared: list[BaseException] = []
    prelude = _isolated(prepare, unprepared) if prepare is not None else None

    def whole() -> None:
        if prelude is not None:
            _isolated(prelude, unprepared)
        call()

    helper = _Helper(f"release of {name}", lambda: context.run(whole))
    try:
        if not _starts(helper):
            # No thread to be had: released without a deadline is better than not released.
            return _run_here(call)
        return replace(_await(helper, name, deadline, grace, escalate), unprepared=tuple(unprepared))
    finally:
        # Their tracebacks lead back to this frame, which for that reason has no name for the outcome either.
        unprepared.clear()


def _starts(helper: _Helper) -> bool:
    try:
        helper.start()
    except (RuntimeError, MemoryError):
        return False
    return True


def _await(
    helper: _Helper, name: str, deadline: float, grace: float, escalate: Callable[[], object] | None
) -> Outcome:
    helper.join(deadline)
    second: Outcome | None = None
    if not helper.finished and escalate is not None:
        second = run_release(f"{name}, escalation", escalate, deadline=grace, grace=0.0)
        helper.join(grace)
    if not helper.finished:
        return Outcome(False, second.error if second else None, second is not None, _stack_of(helper))
    error, helper.error = helper.error, None
    return Outcome(True, error, second is not None)


def _isolated(step: Callable[[], R], failures: list[BaseException]) -> R | None:
    """A step of the preparation: a release on the wrong device may still succeed, one left out cannot."""
    try:
        return step()
    except BaseException as error:
        failures.append(error)
        return None


def _run_here(call: Callable[[], object]) -> Outcome:
    try:
        call()
    except BaseException as error:
        return Outcome(True, error)
    return Outcome(True)


def _stack_of(thread: threading.Thread) -> str:
    frames: dict[int, Any] = sys._current_frames()
    frame = frames.get(thread.ident or 0)
    return "".join(traceback.format_stack(frame)) if frame is not None else ""
