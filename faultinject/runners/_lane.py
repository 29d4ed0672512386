"""A lane: runs one case after another, each in a process of its own, and watches it from outside.

The lane adopts what a case leaves behind (it is a child subreaper), so an orphan is seen, charged to the
case that left it, and ended before the next one starts.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import msgspec

from faultinject.facts import Left, Observation
from faultinject.runners._ending import end_at_once, end_orphans, shared_names
from faultinject.runners._messages import (
    Done,
    Failed,
    Farewell,
    Frames,
    Message,
    Observed,
    Record,
    RunCase,
    Screen,
    decode,
    encode,
    receive,
    send,
)
from faultinject.targets import Target, TargetSpec

PR_SET_CHILD_SUBREAPER = 36
_SCREEN_SILENCE = 3600.0
"""Seconds of silence after which a screen hangs; as a whole it takes as long as it has points."""
_FAREWELL = 5.0
"""Seconds in which a recording, or a screen, that has said everything may still end by itself."""
_LOOK_AT_LOG = 0.25
"""Seconds between two looks at how much a case has written, while nothing else is heard of it."""
_LARGEST_LOG = 16 << 20
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class InBlock(BaseException):
    """Raised in a case's process whose target is a block of code that begins where `serve` was called.

    No `Exception`: it has to come through all that lies between.
    """

    def __init__(self, order: Message, outlet: socket.socket) -> None:
        super().__init__()
        self.order = order
        self.outlet = outlet


def serve(connection: socket.socket, target: Target | None, spec: TargetSpec, directory: str) -> None:
    """Carry out orders until the other end says farewell or is gone.

    Args:
        target: imported already, so that each case is a fork of this process; `None` to start a fresh
            interpreter for each (the spawn runner).
        directory: holds a temporary directory for each case; removed by whoever made it.

    Raises:
        InBlock: in the process of a case whose target is a block of code; it goes on from here.
    """
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    while True:
        order = receive(connection)
        if order is None or isinstance(order, Farewell):
            return
        try:
            Case(connection, target, spec, directory, order).run()
        except OSError as error:
            # Also when the other end is gone; then this send says so again, and the lane ends.
            what = f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"
            send(
                connection,
                Failed(
                    f"no case of target {spec.name} can be run here ({what}); make room, then sweep again"
                ),
            )
            send(connection, Done())


_WARM: set[object] = set()


class Case:
    """One order's process, from its start until nothing is left of it."""

    def __init__(
        self,
        connection: socket.socket,
        target: Target | None,
        spec: TargetSpec,
        directory: str,
        order: Message,
    ) -> None:
        self.connection = connection
        self.target = target
        self.spec = spec
        self.order = order
        self.directory = tempfile.mkdtemp(prefix="case-", dir=directory)
        self.log = os.path.join(self.directory, "output")
        self.stack = os.path.join(self.directory, "stack")
        self.temporary = os.path.join(self.directory, "tmp")
        os.mkdir(self.temporary)
        self.last: Observation | None = None
        self.finished = False

    def run(self) -> None:
        """Start, watch, judge from outside, clean up, and answer."""
        inside, outside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.names = shared_names()
        lane = os.getpid()
        pid = 0
        over = False
        try:
            limit = self._limit()
            pid, reap = self._start(inside, limit)
            inside.close()
            timed_out = self._watch(pid, outside, limit)
            if timed_out:
                self._end(pid)
            status = reap()
            self._drain(outside)
            orphans = end_orphans(pid)
            over = True
            self._answer(status, timed_out, orphans)
        finally:
            outside.close()
            if os.getpid() == lane:
                if pid and not over:
                    self._end(pid)
                    end_orphans(pid)
                shutil.rmtree(self.directory, ignore_errors=True)

    def _limit(self) -> float:
        """Seconds that the process has; of a screen, in which it may be silent."""
        if isinstance(self.order, Screen):
            return _SCREEN_SILENCE
        settings = getattr(self.order, "settings", None)
        return settings.time_limit if settings else 60.0

    def _start(self, inside: socket.socket, limit: float) -> tuple[int, Callable[[], int]]:
        if self.target is not None:
            settings = getattr(self.order, "settings", None)
            if settings is not None and settings not in _WARM:
                from faultinject.runners._inside import warm_up

                _WARM.add(settings)
                warm_up(settings)
            pid = os.fork()
            if pid == 0:
                self._be_the_case(inside, limit)
            return pid, lambda: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        environment = {**os.environ, "TMPDIR": self.temporary}
        with open(self.log, "ab") as log:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "faultinject.runners._spawned",
                    str(inside.fileno()),
                    self.stack,
                    str(time.monotonic() + limit),
                ],
                pass_fds=(inside.fileno(),),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(encode(self.spec) + encode(self.order))
            process.stdin.close()
        return process.pid, process.wait

    def _be_the_case(self, inside: socket.socket, limit: float) -> None:
        """In the forked copy; does not return.

        Raises:
            InBlock: the target is a block of code, which runs on where the lane was begun.
        """
        is_block = False
        try:
            self.connection.close()
            os.setsid()
            prepare_process(self.log, self.temporary, self.stack, limit)
            assert self.target is not None
            is_block = self.target.is_block
            if not is_block:
                from faultinject.runners._inside import carry_out, leave

                carry_out(self.order, self.target, inside, "zygote")
                leave()
        finally:
            if not is_block:
                os._exit(70)
        raise InBlock(self.order, inside)

    def _watch(self, pid: int, outside: socket.socket, limit: float) -> bool:
        """Pass on what the case says until it ends; whether it had to be ended: by then its `limit` is over,
        or a screen has been silent for so long."""
        handle = os.pidfd_open(pid)
        frames = self.frames = Frames()
        until = time.monotonic() + limit
        poll = select.poll()
        poll.register(outside, select.POLLIN)
        poll.register(handle, select.POLLIN)
        poll.register(self.connection, select.POLLHUP | select.POLLRDHUP)
        try:
            while True:
                remaining = until - time.monotonic()
                if remaining <= 0:
                    return True
                ready = poll.poll(min(remaining, _LOOK_AT_LOG) * 1000 + 1)
                if not ready:
                    self._bound_log()
                for descriptor, event in ready:
                    if descriptor == handle:
                        return False
                    if descriptor == self.connection.fileno():
                        raise SystemExit(0)
                    if event & select.POLLIN:
                        self._take(frames, outside.recv(1 << 20))
                        if isinstance(self.order, Screen):
                            until = time.monotonic() + limit
                        if self.finished and not isinstance(self.order, RunCase):
                            # All is said; that it can end by itself is asked of cases only.
                            until = min(until, time.monotonic() + _FAREWELL)
                    elif event & (select.POLLHUP | select.POLLERR):
                        poll.unregister(outside)
        finally:
            os.close(handle)

    def _bound_log(self) -> None:
        """A target that prints without end must not fill the disk: what it wrote so far is dropped."""
        with contextlib.suppress(OSError):
            if os.stat(self.log).st_size > _LARGEST_LOG:
                os.truncate(self.log, 0)

    def _end(self, pid: int) -> None:
        """End a case's process and its session at once, and remove the names it made in ``/dev/shm``: nobody
        else will."""
        end_at_once(pid, self.names)

    def _drain(self, outside: socket.socket) -> None:
        outside.setblocking(False)
        with contextlib.suppress(BlockingIOError, ConnectionError):
            while part := outside.recv(1 << 20):
                self._take(self.frames, part)

    def _take(self, frames: Frames, data: bytes) -> None:
        for body in frames.feed(data):
            if isinstance(self.order, RunCase):
                message = decode(body)
                if isinstance(message, Observed):
                    self.last = message.observation
                    continue
                self.finished = self.finished or isinstance(message, Done)
                if isinstance(message, Done):
                    continue
                send(self.connection, message)
            else:
                # Passed on unread: a screen says thousands of things.
                if len(body) < 64 and isinstance(decode(body), Done):
                    self.finished = True
                    continue
                self.connection.sendall(len(body).to_bytes(4, "big") + body)

    def _answer(self, status: int, timed_out: bool, orphans: list[tuple[int, str]]) -> None:
        if isinstance(self.order, RunCase):
            seen = self.last or Observation(self.order.case.id, "zygote" if self.target else "spawn")
            seen = msgspec.structs.replace(
                seen,
                runner="zygote" if self.target is not None else "spawn",
                exit_status=status,
                timed_out=timed_out,
                hang_stack=_without_own_frames(_read(self.stack)) if timed_out else "",
                left=self._seen_from_outside(seen, orphans),
            )
            if self.order.verbose or timed_out or status != 0:
                seen = msgspec.structs.replace(seen, output=_end_of(self.log))
            send(self.connection, Observed(seen))
        elif not self.finished:
            how = "hangs" if timed_out else f"died with status {status}"
            text = _without_own_frames(_read(self.stack)) if timed_out else _end_of(self.log)
            if isinstance(self.order, Record):
                send(
                    self.connection,
                    Failed(
                        f"target {self.spec.name} {how} without any fault; "
                        "make it construct first, then sweep it",
                        text,
                    ),
                )
            else:
                send(self.connection, Failed(f"the process that screens {self.spec.name} {how}", text))
        send(self.connection, Done())

    def _seen_from_outside(self, seen: Observation, orphans: list[tuple[int, str]]) -> tuple[Left, ...]:
        """What is still there after the process has ended was never given back; it is removed now."""
        alive = {str(pid) for pid, _ in orphans}
        left: list[Left] = []
        for one in seen.left:
            stays = one.grade == "exit" and (
                (one.probe == "processes" and one.key.partition(":")[0] in alive)
                or (one.probe == "temporary files" and _exists(self.temporary, one.item.label))
                or (one.probe in ("shared memory", "semaphores") and _unlink_name(one.key))
            )
            left.append(msgspec.structs.replace(one, grade="never") if stays else one)
        return tuple(left)


def prepare_process(log: str, temporary: str, stack: str, limit: float) -> None:
    """Set a case's process apart: its own output, temporary directory and signal handlers, and a stack dump
    shortly before its time limit."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    os.close(null)
    os.environ["TMPDIR"] = temporary
    tempfile.tempdir = None
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    # Kept open on purpose: the dump is written when nothing else runs any more.
    dump: Any = os.open(stack, os.O_WRONLY | os.O_CREAT, 0o600)
    if limit < _SCREEN_SILENCE:
        faulthandler.dump_traceback_later(max(0.05, limit - 0.25), file=dump, exit=False)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(20_000)
    except OSError:
        return ""


def _end_of(path: str) -> str:
    """The last 4000 bytes of a file, as text."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.stat(path).st_size - 4000))
            return file.read(4000).decode(errors="replace")
    except OSError:
        return ""


def _without_own_frames(stack: str) -> str:
    """A dump of faulthandler's without the lines of the tool and of how it was started."""
    own = (f'File "{_PACKAGE}/', 'File "<frozen runpy>"')
    return "\n".join(line for line in stack.splitlines() if not any(part in line for part in own))


def _exists(directory: str, label: str) -> bool:
    name = label.rpartition("/")[2].split(" ")[0]
    return bool(name) and os.path.lexists(os.path.join(directory, name))


def _unlink_name(key: str) -> bool:
    """Remove a name of /dev/shm that a case left; whether it was there."""
    name = key.rpartition(":")[0] or key
    with contextlib.suppress(OSError):
        os.unlink(os.path.join("/dev/shm", name))
        return True
    return False
