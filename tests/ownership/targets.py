"""Small constructors under `engine.transactional`, each one thing that a rollback has to get right.

Each is swept by faultinject and must come out clean; `benchmarks/mutations.py` sweeps them again with a part
of `engine` deleted, and then one of them must not. So what a rollback does is made visible from outside: a
signal that is lost, a logger that is not told or an escalation that is left out is a descriptor that stays
open.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import shared_memory
from typing import Any

from engine import OwnershipTransaction, transactional

QUIET = logging.Logger("quiet")
QUIET.addHandler(logging.NullHandler())


def configure() -> int:
    """The last step of each constructor: what can fail once everything is owned."""
    return len(os.environ)


class Channel:
    """Two descriptors, to be closed once."""

    def __init__(self) -> None:
        self.ends: tuple[int, ...] = os.pipe()

    def close(self) -> None:
        for end in self.ends:
            os.close(end)


class ClosedChannel(Channel):
    """One that is opened later."""

    def __init__(self) -> None:
        self.ends = ()

    def open(self) -> None:
        self.ends = os.pipe()


def fail(error: BaseException) -> Callable[[Any], None]:
    """A release that has done its work, and fails then."""

    def release(part: Any) -> None:
        part.close()
        raise error

    return release


class Plain:
    """Two channels, newest released first."""

    @transactional("Plain")
    def __init__(self, transaction: OwnershipTransaction) -> None:
        self.first = transaction.acquire("first", Channel, release="close")
        self.second = transaction.acquire("second", Channel, release="close", deadline=None)
        self.size = configure()

    def close(self) -> None:
        self.second.close()
        self.first.close()


class Misused:
    """What cannot be a time, an order or a release is refused before anything is owned.

    Raises:
        RuntimeError: it was taken; then nothing of this can be swept.
    """

    WRONG: tuple[dict[str, Any], ...] = ({"deadline": "5"}, {"grace": -1.0}, {"order": "channel"})
    WRONG_OF_ONE: tuple[dict[str, Any], ...] = ({"deadline": "5"}, {"release": ()}, {"release": (1,)})

    def __init__(self) -> None:
        for options in self.WRONG:
            self._refused(OwnershipTransaction, "Misused", **options)
        with OwnershipTransaction("Misused") as transaction:
            for options in self.WRONG_OF_ONE:
                self._refused(transaction.own, "wrong", None, **{"release": "close", **options})
            self.channel = transaction.acquire("channel", Channel, release="close")
            self._refused(transaction.own, "channel", None, release="close")
            self.size = configure()
        self._refused(transaction.own, "late", None, release="close")

    def _refused(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        try:
            call(*arguments, **options)
        except (TypeError, ValueError, RuntimeError):
            return
        raise RuntimeError(f"{arguments} {options} was taken")

    def close(self) -> None:
        self.channel.close()


class InOrder:
    """Its normal shutdown is not newest first: the first says its last word through the second."""

    @transactional("InOrder", order=("first", "third", "second"), logger=QUIET)
    def __init__(self, transaction: OwnershipTransaction) -> None:
        self.first = transaction.acquire("first", Channel, release=self._close_first)
        self.second = transaction.acquire("second", Channel, release="close")
        self.third = transaction.acquire("third", Channel, release="close")
        self.fourth = transaction.acquire("fourth", Channel, release="close")
        self.size = configure()

    def close(self) -> None:
        self.fourth.close()
        self._close_first(self.first)
        self.third.close()
        self.second.close()

    def _close_first(self, first: Channel) -> None:
        os.write(self.second.ends[1], b"the end")
        first.close()


class InABlock:
    """A factory that uses the transaction as a context manager."""

    def __init__(self) -> None:
        with OwnershipTransaction("InABlock") as transaction:
            self.first = transaction.acquire("first", Channel, release="close")
            self.second = transaction.own("second", ClosedChannel(), release="close")
            self.second.open()
            self.size = configure()

    def close(self) -> None:
        self.second.close()
        self.first.close()


class SomeDidNotCome:
    """Acquisitions that failed are done without; there is nothing of them to release."""

    @transactional("SomeDidNotCome")
    def __init__(self, transaction: OwnershipTransaction) -> None:
        self.first = transaction.acquire("first", Channel, release="close")
        for name in ("second", "third", "fourth"):
            with suppress(LookupError):
                transaction.acquire(name, {}.__getitem__, name, release="close")
        self.size = configure()

    def close(self) -> None:
        self.first.close()


class Threads:
    """A thread, told to stop and joined, and a segment of shared memory."""

    @transactional("Threads")
    def __init__(self, transaction: OwnershipTransaction) -> None:
        self.stop = threading.Event()
        self.thread = transaction.acquire("thread", self._start, release=self._end)
        self.segment = transaction.acquire(
            "segment",
            shared_memory.SharedMemory,
            release=("close", "unlink"),
            keywords={"create": True, "size": 64},
        )
        self.size = configure()

    def _start(self) -> threading.Thread:
        thread = threading.Thread(target=self.stop.wait)
        thread.start()
        return thread

    def _end(self, thread: threading.Thread) -> None:
        self.stop.set()
        thread.join()

    def close(self) -> None:
        self.segment.close()
        self.segment.unlink()
        self._end(self.thread)


class SecondFaults:
    """Every release fails, in a thread or here, having done its work."""

    @transactional("SecondFaults", logger=QUIET)
    def __init__(self, transaction: OwnershipTransaction) -> None:
        self.channels = [
            transaction.acquire(str(number), Channel, release=fail(error), deadline=deadline)
            for number, (error, deadline) in enumerate(
                (error, deadline)
                for error in (ValueError("second"), KeyboardInterrupt(), SystemExit(2), Unprintable())
                for deadline in (None, 30.0)
            )
        ]
        self.size = configure()

    def close(self) -> None:
        for channel in reversed(self.channels):
            channel.close()


class Unprintable(Exception):
    """An exception whose text cannot be had."""

    def __str__(self) -> str:
        raise ValueError("no text")


class Alarm:
    """Hears of failures as the filter of a logger: ends a thread for each, and fails itself.

    One that there was not leaves two descriptors open.
    """

    def __init__(self, count: int) -> None:
        self.waiting = [threading.Event() for _ in range(count)]
        self.threads = [threading.Thread(target=one.wait) for one in self.waiting]
        for thread in self.threads:
            thread.start()

    def hear(self, record: logging.LogRecord) -> bool:
        if self.waiting:
            self.waiting.pop().set()
        else:
            os.pipe()
        raise KeyboardInterrupt

    def logger(self) -> logging.Logger:
        logger = logging.Logger("alarm")
        logger.addFilter(self.hear)
        return logger

    def close(self) -> None:
        for one in self.waiting:
            one.set()
        for thread in self.threads:
            thread.join()


class WithAlarm:
    """Three releases fail; each must be told to the logger, which fails in its turn."""

    def __init__(self) -> None:
        self.alarm = Alarm(3)
        self.construct(OwnershipTransaction("WithAlarm", logger=self.alarm.logger()))

    def construct(self, transaction: OwnershipTransaction) -> None:
        with transaction:
            self.channels = [
                transaction.acquire("first", Channel, release=fail(ValueError("x"))),
                transaction.acquire("second", Channel, release=fail(ValueError("x")), deadline=None),
                transaction.acquire("third", Channel, release=fail(SystemExit(1))),
            ]
            self.size = configure()

    def close(self) -> None:
        for channel in reversed(self.channels):
            channel.close()
        self.alarm.close()


class Unprepared:
    """What prepares the releases fails, here for one half and in the release's thread for the other."""

    def __init__(self) -> None:
        self.alarm = Alarm(4)
        self.half = 0
        self.construct(OwnershipTransaction("Unprepared", prepare=self.prepare, logger=self.alarm.logger()))

    def prepare(self) -> Callable[[], object]:
        self.half += 1
        if self.half % 2:
            raise SystemExit("not here")
        return lambda: 1 / 0

    def construct(self, transaction: OwnershipTransaction) -> None:
        with transaction:
            self.channels = [transaction.acquire(name, Channel, release="close") for name in "abcd"]
            self.size = configure()

    def close(self) -> None:
        for channel in reversed(self.channels):
            channel.close()
        self.alarm.close()


class Prepared:
    """A release that works only in a thread which has been prepared for it."""

    @transactional("Prepared", prepare=lambda: Prepared.use_device)
    def __init__(self, transaction: OwnershipTransaction) -> None:
        self.channel = transaction.acquire("channel", Channel, release=self.give_back)
        self.size = configure()

    device = threading.local()

    @classmethod
    def use_device(cls) -> None:
        cls.device.index = 1

    def give_back(self, channel: Channel) -> None:
        if getattr(self.device, "index", 0):
            channel.close()

    def close(self) -> None:
        self.channel.close()


class EndsWithItsLastReference:
    """A release that only lets go: what is owned ends when nobody refers to it any more."""

    @transactional("EndsWithItsLastReference", logger=QUIET, prepare=lambda: 1 / 0)
    def __init__(self, transaction: OwnershipTransaction) -> None:
        self.parts = [
            transaction.acquire("here", _Droppable, release="drop", deadline=None),
            transaction.acquire("there", _Droppable, release="drop"),
            transaction.acquire("failing", _Droppable, release="fail", deadline=None),
            transaction.acquire("failing there", _Droppable, release="fail"),
        ]
        try:
            self.size = configure()
        except BaseException:
            self.parts.clear()
            raise

    def close(self) -> None:
        self.parts.clear()


class _Droppable:
    def __init__(self) -> None:
        self.channel = Channel()

    def drop(self) -> None: ...

    def fail(self) -> None:
        raise ValueError("x")

    def __del__(self) -> None:
        self.channel.close()


class AsksAgain:
    """A release that asks for the rollback under way, as one does that closes its owner."""

    def __init__(self) -> None:
        with OwnershipTransaction("AsksAgain") as transaction:
            self.first = transaction.acquire("first", Channel, release="close")
            self.second = transaction.acquire("second", Channel, release=self._close_owner, deadline=None)
            self.transaction = transaction
            self.size = configure()

    def _close_owner(self, channel: Channel) -> None:
        channel.close()
        _ = [*self.transaction.rollback()]

    def close(self) -> None:
        self.second.close()
        self.first.close()
