"""Constructors whose releases do not come back by themselves: threads, processes, and none to be had."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from engine import OwnershipTransaction, stop_processes, transactional
from tests.ownership.targets import Alarm, Channel, configure


class Stuck:
    """A release in C code that ends only when somebody hears that it was given up."""

    grace = 60.0
    """Without an escalation there is nothing to wait for after the deadline."""

    def __init__(self) -> None:
        self.alarm = _Frees(1)
        logger = self.alarm.logger()
        self.construct(OwnershipTransaction("Stuck", deadline=0.1, grace=self.grace, logger=logger))

    def construct(self, transaction: OwnershipTransaction) -> None:
        with transaction:
            self.first = transaction.acquire("first", Channel, release="close")
            transaction.own("stuck", self.alarm.held, release=self._pass)
            self.second = transaction.acquire("second", Channel, release="close")
            self.size = configure()

    @staticmethod
    def _pass(lock: threading.Lock) -> None:
        with lock:
            pass

    def close(self) -> None:
        self.second.close()
        self.first.close()
        self.alarm.close()


class _Frees(Alarm):
    """Frees whoever waits for its lock when it hears of it."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.held = threading.Lock()
        self.held.acquire()

    def hear(self, record: Any) -> bool:
        self.held.release()
        return super().hear(record)


class StuckEscalation(Stuck):
    """The escalation is stuck as well, and ends with the release."""

    grace = 0.1

    def construct(self, transaction: OwnershipTransaction) -> None:
        with transaction:
            self.first = transaction.acquire("first", Channel, release="close")
            transaction.own("stuck", self.alarm.held, release=self._pass, escalate=self._pass)
            self.second = transaction.acquire("second", Channel, release="close")
            self.size = configure()


class EndsAfterEscalation:
    """A release that the escalation frees, and that has work left to do then."""

    @transactional("EndsAfterEscalation", deadline=0.05, grace=10.0)
    def __init__(self, transaction: OwnershipTransaction) -> None:
        self.free = threading.Event()
        self.channel = transaction.acquire(
            "channel", Channel, release=self._release, escalate=lambda _: self.free.set()
        )
        # In time, so not to be escalated: that would close it twice.
        self.prompt = transaction.acquire("prompt", Channel, release="close", escalate=Channel.close)
        self.size = configure()

    def _release(self, channel: Channel) -> None:
        self.free.wait()
        time.sleep(1.0)
        channel.close()

    def close(self) -> None:
        self.prompt.close()
        self.channel.close()


class TakesItsTime:
    """A release that takes a while, within its deadline; the next must not overtake it."""

    @transactional("TakesItsTime")
    def __init__(self, transaction: OwnershipTransaction) -> None:
        self.channel = transaction.acquire("channel", Channel, release=self._release)
        self.size = configure()

    def _release(self, channel: Channel) -> None:
        time.sleep(1.0)
        channel.close()

    def close(self) -> None:
        self.channel.close()


_STUBBORN = "import signal, sys; signal.signal(15, signal.SIG_IGN); print(flush=True); sys.stdin.read()"
_TIDY = """
import os, signal, sys, time
open(sys.argv[1], "x").close()
def end(*_):
    time.sleep(0.2)
    os.unlink(sys.argv[1])
    os._exit(0)
signal.signal(signal.SIGTERM, end)
print(flush=True)
signal.pause()
"""


def _start(*arguments: str) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(
        [sys.executable, "-S", "-c", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdout.readline()
    child.stdout.close()
    return child


class StubbornChild:
    """A process that ignores SIGTERM, and a release that waits for its end."""

    @transactional("StubbornChild", deadline=0.05, grace=10.0)
    def __init__(self, transaction: OwnershipTransaction) -> None:
        self.child = transaction.acquire(
            "child",
            _start,
            _STUBBORN,
            release=(subprocess.Popen.wait, lambda child: child.stdin.close()),
            escalate=lambda child: stop_processes([child], grace=0.2),
        )
        self.size = configure()

    def close(self) -> None:
        assert self.child.stdin is not None
        self.child.stdin.close()
        self.child.wait()


def _not_its_parent() -> bool:
    """As `multiprocessing.Process.is_alive` where the process was inherited by a fork."""
    raise AssertionError("can only test a child process")


class TidyChild:
    """A process that removes its file when it is asked to end, others that never were one or are gone.

    It is also known to an object of a process that was not its parent, which may not ask after it.
    """

    @transactional("TidyChild")
    def __init__(self, transaction: OwnershipTransaction) -> None:
        self.path = str(Path(tempfile.gettempdir(), f"tidy-{os.getpid()}"))
        gone = subprocess.Popen(["true"])
        never = multiprocessing.get_context("fork").Process(target=print)
        self.child = transaction.acquire(
            "child",
            _start,
            _TIDY,
            self.path,
            release=(
                lambda child: stop_processes(
                    [
                        SimpleNamespace(pid=child.pid, is_alive=_not_its_parent),
                        never,
                        SimpleNamespace(pid=None),
                        gone,
                        child,
                        SimpleNamespace(pid=child.pid),
                    ],
                    grace=5.0,
                ),
                lambda child: child.stdin.close(),
            ),
        )
        gone.wait()
        self.size = configure()

    def close(self) -> None:
        assert self.child.stdin is not None
        self.child.stdin.close()
        self.child.terminate()
        self.child.wait()


class NoThreadToBeHad:
    """The memory for a thread is not there when the releases run."""

    @transactional("NoThreadToBeHad")
    def __init__(self, transaction: OwnershipTransaction) -> None:
        limits = resource.getrlimit(resource.RLIMIT_AS)
        transaction.own("enough", limits, release=_no_limit, deadline=None)
        self.first = transaction.acquire("first", Channel, release="close")
        self.second = transaction.acquire("second", Channel, release="close")
        transaction.own("too little", limits, release=_no_room_for_threads, deadline=None)
        self.size = configure()

    def close(self) -> None:
        self.second.close()
        self.first.close()


def _no_room_for_threads(limits: tuple[int, int]) -> None:
    threading.stack_size(1 << 30)
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    limit = pages * resource.getpagesize() + (1 << 28)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limits[1]))


def _no_limit(limits: tuple[int, int]) -> None:
    threading.stack_size(0)
    resource.setrlimit(resource.RLIMIT_AS, limits)


class RestoresItsHandler:
    """A release that has to run in the main thread, and that puts back what is held at the time."""

    @transactional("RestoresItsHandler")
    def __init__(self, transaction: OwnershipTransaction) -> None:
        before = signal.getsignal(signal.SIGTERM)
        self.before = transaction.own("handler", before, release=_restore, deadline=None)
        signal.signal(signal.SIGTERM, print)
        self.size = configure()

    def close(self) -> None:
        _restore(self.before)


def _restore(handler: Any) -> None:
    signal.signal(signal.SIGTERM, handler)
