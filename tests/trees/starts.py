"""Start-ups of a caller, an engine and two workers: planted defects, and a repaired twin of each.

What the repaired one does: who loses its parent ends (a pipe whose other end only the parent has), who
starts something ends it when it fails, and what the caller gets says who failed and why. A defect is the lack
of one of these, by the name of its flaw.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import multiprocessing as mp
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
import uuid
from multiprocessing.connection import Connection, wait
from typing import Any

WORKERS = 2
MEBIBYTE = 1 << 20


class Failed(Exception):
    """A process of the start-up failed."""


def load() -> None:
    """A moment of each worker's start."""


def connect() -> None:
    """A moment of the engine's start."""


def started() -> None:
    """A moment of the engine's start: its workers are on their way."""


def clean_up() -> None:
    """A moment of the engine's end."""


def end_with(parent: Connection) -> None:
    """End this process as soon as the other end of a pipe is closed, that is, its parent is dead."""

    def watch() -> None:
        with contextlib.suppress(EOFError, OSError):
            parent.recv_bytes()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Child:
    """A process, what it says, and a pipe that its life hangs on."""

    def __init__(self, method: str, name: str, target: Any, flaws: frozenset[str], *arguments: Any) -> None:
        context: Any = mp.get_context(method)
        self.reader, writer = context.Pipe(duplex=False)
        watched, self.lifeline = context.Pipe(duplex=False)
        rest = (writer, watched, self.lifeline, flaws, *arguments)
        self.process = context.Process(target=run, args=(target, *rest), name=name)
        # A handler that raises while Python forks is not heard: `os.register_at_fork` has no caller to tell.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        writer.close()
        watched.close()

    def end(self) -> None:
        self.process.terminate()
        self.process.join(1.0)
        self.process.kill()
        self.process.join()


def run(
    target: Any, writer: Connection, watched: Connection, other: Connection, flaws: Any, *rest: Any
) -> None:
    """What each child runs."""
    if "parent death signal" in flaws:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
        writer.send("armed")
    if target is engine:
        # Before anything can ask it to end: its clean-up is more than its death.
        signal.signal(signal.SIGTERM, signal.SIG_DFL if "no handler at first" in flaws else terminated)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

    def arm() -> None:
        first_only = "one watches" in flaws and mp.current_process().name == "Worker-1"
        if "no lifeline" not in flaws and not first_only:
            other.close()
            end_with(watched)

    try:
        target(arm, writer, flaws, *rest)
    except BaseException as error:
        with contextlib.suppress(OSError):
            writer.send(f"{type(error).__name__}: {error}")
        raise


def worker(arm: Any, writer: Connection, flaws: frozenset[str], meeting: Any) -> None:
    arm()
    load()
    meeting.wait()
    bytearray(64 * MEBIBYTE)
    writer.send("ready")
    signal.pause()


def await_ready(children: list[Child], flaws: frozenset[str]) -> None:
    """Wait for all at once, and say who failed, and why."""
    if "in order" in flaws:
        for child in children:
            child.reader.recv()
        return
    waiting = list(children)
    while waiting:
        wait([*(c.reader for c in waiting), *(c.process.sentinel for c in waiting)])
        for child in list(waiting):
            said = ""
            if child.reader.poll():
                with contextlib.suppress(EOFError, OSError):
                    said = child.reader.recv()
            elif child.process.is_alive():
                continue
            if said == "ready":
                waiting.remove(child)
            elif said != "armed":
                child.process.join(2.0)
                code = child.process.exitcode
                if "hides the cause" in flaws:
                    raise Failed("see the cause above")
                raise Failed(f"{child.process.name} failed: {said or f'exit status {code}'}")


names: list[str] = []


def forget_names() -> None:
    """Those who needed them have ended."""
    while names:
        os.unlink(names.pop())


def make_ring(flaws: frozenset[str]) -> mmap.mmap:
    """Shared memory, for the workers to inherit; without a name, so that it ends with them."""
    path = f"/dev/shm/ring-{uuid.uuid4().hex}"
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        if "keeps the name" in flaws:
            names.append(path)
        else:
            os.unlink(path)
        if "trusts the size" in flaws:
            os.ftruncate(descriptor, MEBIBYTE)
        else:
            os.posix_fallocate(descriptor, 0, MEBIBYTE)
        ring = mmap.mmap(descriptor, MEBIBYTE)
        ring[:] = b"x" * MEBIBYTE
        return ring
    finally:
        os.close(descriptor)


def terminated(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def engine(arm: Any, writer: Connection, flaws: frozenset[str], method: str, place: str) -> None:
    workers: list[Child] = []
    failed = False
    try:
        arm()
        connect()
        with socket.socket() as served, socket.socket(socket.AF_UNIX) as inner, make_ring(flaws):
            meeting: Any = mp.get_context(method).Barrier(WORKERS)
            served.bind(("127.0.0.1", int(os.environ.get("TEST_TREE_PORT", "0"))))
            served.listen()
            inner.bind(f"{place}/socket")
            for number in range(WORKERS):
                workers.append(Child(method, f"Worker-{number}", worker, flaws, meeting))
            started()
            await_ready(workers, flaws)
            signal.signal(signal.SIGTERM, terminated)
            writer.send("ready")
            signal.pause()
    except Exception:
        failed = True
        raise
    finally:
        # Whoever asks again need not: it is being done.
        again = signal.SIG_DFL if "second signal" in flaws else signal.SIG_IGN
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, again)
        clean_up()
        for one in workers:
            one.end()
        if not failed:
            forget_names()
        if not failed or "keeps files" not in flaws:
            shutil.rmtree(place, ignore_errors=True)


class Start:
    """The caller's object; right in all that it does, unless it has a flaw."""

    def __init__(self, *flaws: str, method: str = "fork") -> None:
        self.flaws = frozenset(flaws)
        self.method = method
        if "parent death signal" in flaws:
            # The thread that starts it ends when it has armed the signal.
            thread = threading.Thread(target=self.start_armed)
            thread.start()
            thread.join()
        else:
            self.start()
        try:
            await_ready([self.engine], self.flaws - {"in order"})
        except BaseException:
            if "no rollback" not in flaws:
                self.close()
            raise

    def start(self) -> None:
        self.place = tempfile.mkdtemp(prefix="ipc-")
        self.engine = Child(self.method, "Engine", engine, self.flaws, self.method, self.place)

    def start_armed(self) -> None:
        self.start()
        self.engine.reader.poll(10.0)

    def close(self) -> None:
        self.engine.end()
        if "keeps files" not in self.flaws:
            shutil.rmtree(self.place, ignore_errors=True)


def rest() -> None:
    signal.pause()


class Late:
    """Its constructor starts a child and then goes on: what comes late finds the child there."""

    def __init__(self, *flaws: str) -> None:
        self.child = mp.get_context("fork").Process(target=rest, name="Engine")
        self.child.start()
        try:
            connect()
        except BaseException:
            if "no rollback" not in flaws:
                self.close()
            raise

    def close(self) -> None:
        self.child.kill()
        self.child.join()


class Optional:
    """Goes on without its helper, on purpose."""

    def __init__(self) -> None:
        self.helper = mp.get_context("fork").Process(target=load, name="Engine")
        self.helper.start()
        self.helper.join()

    def close(self) -> None: ...


class Once:
    """Comes to its milestone in its first run only."""

    def __init__(self) -> None:
        marker = os.environ["TEST_TREE_MARKER"]
        if not os.path.exists(marker):
            open(marker, "w").close()
            connect()
