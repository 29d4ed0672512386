"""Why a start-up failed: the first real cause, carried from the process in which it happened."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from typing import Any

_LIMIT = 20_000
"""Characters of a traceback that travel, and of a message a tenth of it."""


FAILED = "FAILED"
"""The status with which a process says why it is not ready; a worker of vLLM's own says READY, or nothing."""

WORKER = "WORKER"
"""The status with which an engine says which process one of its workers is, and whether that is ready."""


@dataclass(frozen=True)
class Cause:
    """What made a process fail while it started.

    Attributes:
        role: of the process: ``engine``, ``worker[1]``.
        pid: of the process.
        kind: type of the exception, with its module; ``""`` if the process ended without one.
        message: of the exception, or how the process ended.
        traceback: as Python prints it; ``""`` if there is none.
        at: seconds, by `time.monotonic`, which the processes of one machine share: when it was raised, or
            when an end was seen.
        killed: a signal has ended the process, or asked it to end.
    """

    role: str
    pid: int
    kind: str = ""
    message: str = ""
    traceback: str = ""
    at: float = 0.0
    killed: bool = False

    @classmethod
    def of(cls, error: BaseException, role: str, pid: int) -> Cause:
        """The cause as `error` tells it, in the process `pid` that raised it."""
        if isinstance(error, StartupError | ExecutorError):
            return error.cause
        if isinstance(error, SystemExit):
            # As a shell tells it: what a signal has asked to end exits with 128 and its number.
            status = error.code if isinstance(error.code, int) else None
            return cls.of_end(role, pid, 128 - status if status is not None and status > 128 else status)
        kind = type(error)
        module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
        text = _cut("".join(traceback.format_exception(error)), _LIMIT)
        said = _cut(str(error), _LIMIT // 10)
        return cls(role, pid, f"{module}{kind.__qualname__}", said, text, time.monotonic())

    @classmethod
    def of_end(cls, role: str, pid: int, exit_code: int | None, *, early: bool = True) -> Cause:
        """The cause where a process ended and told nothing.

        Args:
            exit_code: as of `multiprocessing.Process.exitcode`: negative for a signal, None if not known.
            early: whether it had not been ready.
        """
        when = " before it was ready" if early else ""
        if exit_code is None:
            said = f"closed its pipe{when}"
        elif exit_code < 0:
            said = f"was ended by {_signal_name(-exit_code)}{when}"
        else:
            said = f"exited with status {exit_code}{when}"
        killed = exit_code is not None and exit_code < 0
        return cls(role, pid, "", said, at=time.monotonic(), killed=killed)

    @classmethod
    def of_delay(cls, role: str, pid: int, waited: float) -> Cause:
        """The cause where an engine was not ready after `waited` seconds, because of a process of its."""
        how = "is stopped, and the engine " if is_stopped(pid) else ""
        limit = f"{waited:g} s (VLLM_ENGINE_READY_TIMEOUT_S)"
        return cls(role, pid, "", f"{how}was not ready within {limit}", at=time.monotonic())

    def as_data(self) -> dict[str, Any]:
        """The fields, of plain types."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Any) -> Cause | None:
        """The inverse of `as_data`; None for what is no such thing."""
        try:
            return cls(**data)
        except TypeError:
            return None

    def __str__(self) -> str:
        who = f"{self.role} (pid {self.pid})"
        if not self.kind:
            return f"{who} {self.message}"
        said = f"{who} failed: {self.kind}: {self.message}"
        return f"{said}\n\n{self.traceback}" if self.traceback else said


def first_of(causes: Iterable[Cause]) -> Cause | None:
    """What went wrong first: that a process was killed, since others fail by it; then what was raised."""
    return min(causes, key=lambda cause: (not cause.killed, not cause.kind, cause.at), default=None)


class StartupError(RuntimeError):
    """An engine did not start. `cause` is the first thing that failed, in whichever process.

    Attributes:
        cause: of it.
    """

    def __init__(self, cause: Cause) -> None:
        super().__init__(f"the engine did not start: {cause}")
        self.cause = cause

    def __reduce__(self) -> tuple[Any, ...]:
        return (_startup_error, (self.cause.as_data(),))


def _startup_error(data: dict[str, Any]) -> StartupError:
    return StartupError(Cause(**data))


class ExecutorError(RuntimeError):
    """An executor whose worker has died, for whatever reason, was asked for something.

    Attributes:
        cause: how the worker ended.
    """

    def __init__(self, cause: Cause) -> None:
        super().__init__(f"Executor failed: {cause}")
        self.cause = cause

    def __reduce__(self) -> tuple[Any, ...]:
        return (_executor_error, (self.cause.as_data(),))


def _executor_error(data: dict[str, Any]) -> ExecutorError:
    return ExecutorError(Cause(**data))


class Teller:
    """Tells whoever started this process how its start goes.

    Args:
        pipe: on which that is told; with None, nobody is.
        role: of this process.
        worker_died: called, in some thread, with how a worker has died that had been ready.
    """

    def __init__(
        self, pipe: Any = None, role: str = "", worker_died: Callable[[Cause], None] | None = None
    ) -> None:
        self._pipe = pipe
        self._role = role
        self._failed = threading.Lock()
        self.worker_died = worker_died or _nothing
        self.asked = 0
        """The signal by which this process was asked to end, once it was."""
        self.starts = True
        """Whether what this process is for is still being constructed."""

    def failed(self, error: BaseException) -> None:
        """Tell why this process fails, once: what comes after that follows from it."""
        if not self._failed.acquire(blocking=False):
            return
        pid = os.getpid()
        if self.asked and isinstance(error, SystemExit):
            cause = Cause.of_end(self._role, pid, -self.asked)
        else:
            cause = Cause.of(error, self._role, pid)
        self._send({"status": FAILED, "cause": cause.as_data()})

    def ended_by(self, number: int) -> None:
        """Tell that this process ends in order, because a signal has asked it to; not where more was told.

        What others have told goes first: whoever ends all of them asks by a signal too.
        """
        if self._failed.acquire(blocking=False):
            cause = Cause.of_end(self._role, os.getpid(), -number, early=False)
            self._send({"status": FAILED, "cause": replace(cause, killed=False).as_data()})

    def worker(self, role: str, pid: int, *, ready: bool) -> None:
        """Tell of a worker that it has started, or that it is ready."""
        self._send({"status": WORKER, "role": role, "pid": pid, "ready": ready})

    def _send(self, message: dict[str, Any]) -> None:
        # The parent may have gone; then nobody wants to know.
        with contextlib.suppress(OSError, ValueError):
            if self._pipe is not None:
                self._pipe.send(message)


def _nothing(cause: Cause) -> None:
    """Nobody wants to know."""


_teller: ContextVar[Teller] = ContextVar("_teller", default=Teller())  # noqa: B039 - it tells nobody


def telling(teller: Teller) -> None:
    """From here on, `teller` is the one of this context."""
    _teller.set(teller)


def teller() -> Teller:
    """The one of this context; one that tells nobody, if nobody started this process as part of an engine."""
    return _teller.get()


def cause_in(message: Any) -> Cause | None:
    """The cause that a `Teller` has sent, if `message` is one of its."""
    if not isinstance(message, dict) or message.get("status") != FAILED:
        return None
    return Cause.from_data(message.get("cause"))


def _cut(text: str, limit: int) -> str:
    """Without its middle, if it is too long: the cause stands at the end."""
    return text if len(text) <= limit else f"{text[: limit // 2]}\n...\n{text[-limit // 2 :]}"


def status_of(process: Any) -> int | None:
    """The exit status of a `multiprocessing.Process` that has ended; None for one that lives, or was closed.

    Its sentinel tells of the end a moment before the kernel has the status.
    """
    from multiprocessing import connection

    try:
        if process.exitcode is None and connection.wait([process.sentinel], 0):
            # Not by joining: of two threads that wait for it, one hears that there is no such child.
            until = time.monotonic() + _STATUS_COMES
            while time.monotonic() < until and process.exitcode is None:
                time.sleep(0.005)
        return process.exitcode  # type: ignore[no-any-return]
    except ValueError:
        return None


_STATUS_COMES = 2.0
"""Seconds in which a process that is on its way out has a status."""


def is_stopped(pid: int) -> bool:
    """Whether that process stands still, by SIGSTOP or a debugger."""
    import psutil

    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
    return False


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
