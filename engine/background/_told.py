"""What the engines tell whoever has started them: which workers they have, and why they failed."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

from engine._startup import WORKER, Cause, cause_in, first_of, is_stopped, status_of
from engine.background._process import PIPE

_TOLD = "_told_by_engines"


class Told:
    """The pipes on which engines tell, one for each, and what has been heard on them.

    Args:
        limit: seconds in which they have to be ready.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._until = time.monotonic() + limit
        self._readers: list[tuple[Any, Any]] = []
        self._writers: list[Any] = []
        self._causes: list[Cause] = []
        self._workers: dict[int, str] = {}
        """Pid of each worker that has started -> its role, which those of two engines share."""
        self._ready: set[int] = set()
        """Pids of those that are ready."""
        # Of the same thread again: a second interrupt may ask as well.
        self._lock = threading.RLock()

    def attach(self, context: Any, process: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
        """A process that has a pipe among its arguments."""
        reader, writer = context.Pipe(duplex=False)
        self._writers.append(writer)
        made = process(**{**kwargs, "kwargs": {**kwargs["kwargs"], PIPE: writer}})
        self._readers.append((made, reader))
        return made

    def started(self) -> None:
        """The processes have their ends: this one's copies are closed."""
        while self._writers:
            self._writers.pop().close()

    @property
    def processes(self) -> list[Any]:
        """Those that have a pipe."""
        return [process for process, _ in self._readers]

    def close(self) -> None:
        """Close all, after a last look."""
        with self._lock:
            self._hear()
            self.started()
            for _, reader in self._readers:
                reader.close()

    def left(self) -> float:
        """Seconds that are left for them to be ready."""
        return max(0.0, self._until - time.monotonic())

    def first_cause(self, failed: str = "") -> Cause | None:
        """What went wrong first: of what was told, and of those that ended.

        Args:
            failed: name of the process that is known to have ended first; then others' ends follow from it.
        """
        with self._lock:
            told = self.told()
            ends = [
                Cause.of_end(self._role(number), process.pid, status, early=not failed)
                for number, (process, _) in enumerate(self._readers)
                if failed in ("", process.name) and (status := status_of(process)) is not None
            ]
        return first_of([*([told] if told else ()), *ends])

    def told(self) -> Cause | None:
        """The first that one has told, if any has."""
        with self._lock:
            self._hear()
            return first_of(self._causes)

    def delay(self) -> Cause:
        """Who is to blame when the time is over: one that is stopped; else a worker, else an engine."""
        cause = self.told()
        if cause is not None:
            # It has told, and not ended.
            return cause
        with self._lock:
            workers = [(role, pid) for pid, role in self._workers.items()]
            engines = [(self._role(number), one.pid) for number, (one, _) in enumerate(self._readers)]
            unready = [one for one in workers if one[1] not in self._ready]
        stopped = [one for one in (*workers, *engines) if is_stopped(one[1])]
        role, pid = (*stopped, *unready, *engines)[0]
        return Cause.of_delay(role, pid, self.limit)

    def _role(self, number: int) -> str:
        return "engine" if len(self._readers) == 1 else f"engine[{number}]"

    def _hear(self) -> None:
        for _, reader in self._readers:
            with contextlib.suppress(EOFError, OSError):
                while not reader.closed and reader.poll(0):
                    self._note(reader.recv())

    def _note(self, message: Any) -> None:
        cause = cause_in(message)
        if cause is not None:
            self._causes.append(cause)
        elif isinstance(message, dict) and message.get("status") == WORKER:
            role, pid = str(message["role"]), int(message["pid"])
            self._workers[pid] = role
            if message["ready"]:
                self._ready.add(pid)


def hear_from(manager: Any, told: Told) -> None:
    """From now on `told_to` finds what the engines of that manager have told."""
    vars(manager)[_TOLD] = told


def told_to(manager: Any) -> Told | None:
    """What the engines of a manager have told; None for one that is none, or is of another kind."""
    found = getattr(manager, "__dict__", {}).get(_TOLD)
    return found if isinstance(found, Told) else None
