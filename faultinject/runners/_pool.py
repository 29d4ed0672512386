"""The sweep's side of the runners: starts the zygote, hands orders to its lanes, gives their answers back."""

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
from typing import Any, Literal, Self

from faultinject.errors import TargetError, UsageError
from faultinject.facts import Observation
from faultinject.runners._messages import (
    Done,
    Failed,
    Farewell,
    Frames,
    Message,
    Observed,
    Ready,
    Record,
    Recorded,
    RunCase,
    Screen,
    decode,
    encode,
    receive,
    send,
)
from faultinject.targets import TargetSpec

Start = Literal["zygote", "spawn"]
OnObservation = Callable[[Observation], None]


class Pool:
    """The lanes of one target. A context manager: leaving it ends every process it started.

    Args:
        spec: the target.
        jobs: number of lanes, each running one case at a time.
        start: how a lane starts a case: ``zygote`` forks a process that has imported the target,
            ``spawn`` starts a fresh interpreter.
        import_limit: seconds that importing the target may take.
        construction_limit: seconds that one construction may take, made to see what it imports.

    Raises:
        TargetError, UsageError: on entering, the target cannot be used.
    """

    def __init__(
        self,
        spec: TargetSpec,
        jobs: int = 1,
        start: Start = "zygote",
        import_limit: float = 300.0,
        construction_limit: float = 120.0,
    ) -> None:
        self.spec = spec
        self.jobs = jobs
        self.start = start
        self.import_limit = import_limit
        self.construction_limit = construction_limit
        self.imported = False
        self.modules: dict[str, str] = {}
        """By name, the file of each module that `Settings.cover` fits, of the recordings so far."""
        self.lanes: list[socket.socket] = []

    def __enter__(self) -> Self:
        self.directory = tempfile.mkdtemp(prefix="faultinject-")
        control, theirs = socket.socketpair()
        pairs = [socket.socketpair() for _ in range(self.jobs)]
        self.control, self.lanes = control, [ours for ours, _ in pairs]
        inherited = [theirs, *(other for _, other in pairs)]
        self.process: subprocess.Popen[bytes] | None = None
        try:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "faultinject.runners._zygote",
                    str(theirs.fileno()),
                    self.start,
                    self.directory,
                    str(self.construction_limit),
                    *(str(other.fileno()) for _, other in pairs),
                ],
                pass_fds=[s.fileno() for s in inherited],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._log(),
                start_new_session=True,
            )
            for one in inherited:
                one.close()
            send(control, self.spec)
            self.ready = self._await_ready()
            self.imported = True
        except BaseException:
            for one in inherited:
                one.close()
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the lanes, their cases and the zygote, and remove their files. Safe to call twice."""
        for lane in self.lanes:
            with contextlib.suppress(OSError):
                lane.sendall(encode(Farewell()))
            lane.close()
        self.lanes = []
        self.control.close()
        process = self.process
        if process is not None and process.poll() is None:
            family = [] if self.imported else _beneath(process.pid)
            if not self.imported:
                process.terminate()  # heard while it imports, when it hears nothing else
            try:
                process.wait(20.0)
            except subprocess.TimeoutExpired:
                family = _beneath(process.pid)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            for one in family:
                with contextlib.suppress(Exception):
                    one.kill()
        self._log_file.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def record(self, order: Record) -> Recorded:
        """Run the target once unharmed.

        Raises:
            TargetError: it fails or hangs without any fault.
        """
        found = self.record_many([order])
        return found[0]

    def record_many(self, orders: list[Record]) -> list[Recorded]:
        """Recordings, side by side as far as there are lanes."""
        results: list[Recorded] = []

        def take(message: Message) -> None:
            if isinstance(message, Recorded):
                results.append(message)
                self.modules.update(message.modules)

        self._work(deque(orders), take)
        return results

    def run(self, orders: Iterable[RunCase | Screen], on_observation: OnObservation) -> None:
        """Carry out `orders`, one at a time in each lane; observations come as cases end."""

        def take(message: Message) -> None:
            if isinstance(message, Observed):
                on_observation(message.observation)

        self._work(deque(orders), take)

    def _work(self, waiting: deque[Message], take: Callable[[Message], None]) -> None:
        busy: dict[int, tuple[socket.socket, Frames]] = {}
        idle = list(self.lanes)
        poll = select.poll()
        for lane in self.lanes:
            poll.register(lane, select.POLLIN)
        while waiting or busy:
            while idle and waiting:
                lane = idle.pop(0)
                send(lane, waiting.popleft())
                busy[lane.fileno()] = (lane, Frames())
            for descriptor, _ in poll.poll():
                entry = busy.get(descriptor)
                if entry is None:
                    continue
                lane, frames = entry
                data = lane.recv(1 << 20)
                if not data:
                    raise TargetError(
                        f"a worker of target {self.spec.name} was ended from outside; run the sweep again "
                        "(with --resume FILE if it wrote a report)",
                        original=self._log_text(),
                    )
                for body in frames.feed(data):
                    message = decode(body)
                    if isinstance(message, Done):
                        del busy[descriptor]
                        idle.append(lane)
                    elif isinstance(message, Failed):
                        raise (UsageError if message.usage else TargetError)(
                            message.message, original=message.original
                        )
                    else:
                        take(message)

    def _await_ready(self) -> Ready:
        self.control.settimeout(self.import_limit + self.construction_limit)
        try:
            message = receive(self.control)
        except TimeoutError:
            raise TargetError(
                f"importing target {self.spec.name} takes longer than {self.import_limit:g} s; "
                "import its module by hand to see why"
            ) from None
        self.control.settimeout(None)
        if isinstance(message, Failed):
            raise (UsageError if message.usage else TargetError)(message.message, original=message.original)
        if not isinstance(message, Ready):
            raise TargetError(
                f"importing target {self.spec.name} ended the process that did it", original=self._log_text()
            )
        return message

    def _log(self) -> int:
        self._log_path = os.path.join(self.directory, "log")
        self._log_file = open(self._log_path, "wb")  # noqa: SIM115 - handed to the child, closed by close()
        return self._log_file.fileno()

    def _log_text(self) -> str:
        with contextlib.suppress(OSError), open(self._log_path, encoding="utf-8", errors="replace") as file:
            return file.read()[-4000:]
        return ""


def _beneath(pid: int) -> list[Any]:
    """The processes that descend from `pid`, as `psutil.Process`."""
    import psutil

    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.Error:
        return []
