"""The sweep's side of the conductors: starts them, gives them runs, takes what they saw."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from faultinject.errors import TargetError, UsageError
from faultinject.runners._pool import _beneath
from faultinject.targets import TargetSpec
from faultinject.trees._messages import (
    Failed,
    Farewell,
    Message,
    Ready,
    Run,
    Setup,
    TreeObservation,
    receive,
    send,
)

_IMPORT_LIMIT = 300.0
_LONGEST_PLACE = 30
"""Characters of a directory beneath which sockets, ours and the target's, fit into the 108 of an address."""


def _short_place() -> str | None:
    """Where to make directories that hold sockets; `None` for the usual place."""
    usual = tempfile.gettempdir()
    short = len(usual) <= _LONGEST_PLACE or not os.access("/tmp", os.W_OK | os.X_OK)
    return None if short else "/tmp"


class TreePool:
    """The conductors of one target. A context manager: leaving it ends every process that they started.

    Args:
        spec: the target.
        jobs: how many trees at a time, each under a conductor of its own.
        fresh: start a fresh interpreter for each caller, instead of a fork of one with the target imported.
        private: keep ``/dev/shm`` apart where that is allowed.

    Raises:
        TargetError, UsageError: on entering, the target cannot be used.
    """

    def __init__(self, spec: TargetSpec, jobs: int = 1, *, fresh: bool = False, private: bool = True) -> None:
        self.spec = spec
        self.jobs = jobs
        self.fresh = fresh
        self.private = private
        self.conductors: list[tuple[subprocess.Popen[bytes], socket.socket]] = []
        self.directory = ""

    def __enter__(self) -> Self:
        # mkdtemp makes it for this user alone (0700), so that nobody else can speak in it.
        self.directory = tempfile.mkdtemp(prefix="fi-", dir=_short_place())
        try:
            for number in range(self.jobs):
                self._start(number)
            for _, connection in self.conductors:
                self.ready = self._await_ready(connection)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self, number: int) -> None:
        ours, theirs = socket.socketpair()
        own = os.path.join(self.directory, str(number))
        os.mkdir(own, 0o700)
        with theirs, open(os.path.join(self.directory, f"log{number}"), "wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "faultinject.trees._conductor", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env={k: v for k, v in os.environ.items() if k != "FAULTINJECT_TREE"},
                start_new_session=True,
            )
        self.conductors.append((process, ours))
        send(ours, Setup(self.spec, own, self.fresh, self.private))

    def _await_ready(self, connection: socket.socket) -> Ready:
        connection.settimeout(_IMPORT_LIMIT)
        try:
            message = receive(connection)
        except TimeoutError:
            raise TargetError(
                f"importing target {self.spec.name} takes longer than {_IMPORT_LIMIT:g} s; "
                "import its module by hand to see why"
            ) from None
        connection.settimeout(None)
        if not isinstance(message, Ready):
            raise self._failure(message)
        return message

    def _failure(self, message: Message | None) -> TargetError | UsageError:
        if isinstance(message, Failed):
            return (UsageError if message.usage else TargetError)(message.message, original=message.original)
        return TargetError(
            f"the process that conducts target {self.spec.name} was ended from outside, or by the target; "
            "run the sweep again (with --resume FILE if it wrote a report)",
            original=self._logs(),
        )

    def run(self, orders: Iterable[Run], on_observation: Callable[[TreeObservation], None]) -> None:
        """Carry out `orders`, one at a time under each conductor.

        Raises:
            TargetError: a conductor was ended.
        """
        waiting = deque(orders)
        idle = [connection for _, connection in self.conductors]
        busy: dict[int, socket.socket] = {}
        while waiting or busy:
            while idle and waiting:
                connection = idle.pop(0)
                with contextlib.suppress(BrokenPipeError):
                    send(connection, waiting.popleft())
                busy[connection.fileno()] = connection
            ready, _, _ = select.select(list(busy.values()), [], [])
            for connection in ready:
                message = receive(connection)
                if not isinstance(message, TreeObservation):
                    raise self._failure(message)
                del busy[connection.fileno()]
                idle.append(connection)
                on_observation(message)

    def close(self) -> None:
        """End the conductors and all beneath them. Safe to call twice."""
        conductors, self.conductors = self.conductors, []
        for _, connection in conductors:
            with contextlib.suppress(OSError):
                send(connection, Farewell())
            connection.close()
        for process, _ in conductors:
            family = _beneath(process.pid) if process.poll() is None else []
            try:
                # One that still imports hears nothing.
                process.wait(20.0 if hasattr(self, "ready") else 0.1)
            except subprocess.TimeoutExpired:
                family = _beneath(process.pid)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
                process.wait()
            for one in family:
                with contextlib.suppress(Exception):
                    one.kill()
        if self.directory:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _logs(self) -> str:
        text = ""
        for number in range(self.jobs):
            with contextlib.suppress(OSError), open(os.path.join(self.directory, f"log{number}")) as file:
                text += file.read()[-4000:]
        return text
