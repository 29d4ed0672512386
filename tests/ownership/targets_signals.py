"""Constructors that are told to stop while they give back what they own, and process-wide state."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import Any

from engine import OwnershipTransaction, transactional
from engine._gc_state import GcState
from engine._signals import held
from tests.ownership.targets import Channel, configure, fail


def send(number: int) -> Any:
    """A release that a signal interrupts, before it has done its work."""

    def release(part: Any) -> None:
        signal.raise_signal(number)
        part.close()

    return release


class Supervised:
    """Its supervisor's handlers close the channels by which it is told to stop: once, after the rollback."""

    def __init__(self) -> None:
        self.told = {signal.SIGINT: Channel(), signal.SIGTERM: Channel()}
        self.busy = False
        before = {number: signal.signal(number, self._handle) for number in self.told}
        try:
            self._construct()
        except BaseException:
            self.size = 0
            raise
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: object) -> None:
        if self.busy:
            raise InterruptedError("in the middle of a release")
        self.told[signal.Signals(number)].close()

    @transactional("Supervised", deadline=None)
    def _construct(self, transaction: OwnershipTransaction) -> None:
        transaction.own("begin", self, release=lambda one: setattr(one, "busy", False))
        self.first = transaction.acquire("first", Channel, release=send(signal.SIGINT))
        self.second = transaction.acquire("second", Channel, release=send(signal.SIGINT))
        self.third = transaction.acquire("third", Channel, release=send(signal.SIGTERM))
        transaction.own("end", self, release=lambda one: setattr(one, "busy", True))
        self.size = configure()

    def close(self) -> None:
        for channel in (self.third, self.second, self.first, *self.told.values()):
            channel.close()


class SupervisedBlock(Supervised):
    """The same, where the transaction is a context manager's."""

    def _construct(self) -> None:  # type: ignore[override]
        with OwnershipTransaction("SupervisedBlock", deadline=None) as transaction:
            Supervised._construct.__wrapped__(self, transaction)  # type: ignore[attr-defined]


class EndedBySigterm:
    """A child process that gets a SIGTERM with the default action in the middle of a rollback: it ends after.

    Raises:
        RuntimeError: it did not; then nothing of this can be swept.
    """

    def __init__(self) -> None:
        self.channel = Channel()
        try:
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                with suppress(ZeroDivisionError):
                    self._fail(writer)
                os._exit(0)
            os.close(writer)
            _, status = os.waitpid(child, 0)
            done = os.read(reader, 10)
            os.close(reader)
            if (os.waitstatus_to_exitcode(status), done) != (-signal.SIGTERM, b"done"):
                raise RuntimeError(f"ended with status {status}, having done {done!r}")
            self.size = configure()
        except BaseException:
            self.channel.close()
            raise

    @transactional("EndedBySigterm", deadline=None)
    def _fail(self, transaction: OwnershipTransaction, writer: int) -> None:
        transaction.own("writer", writer, release=lambda writer: os.write(writer, b"done"))
        transaction.own("second", 2, release=lambda _: signal.raise_signal(signal.SIGTERM))
        raise ZeroDivisionError

    def close(self) -> None:
        self.channel.close()


class Holds:
    """A child process in which no signal comes between two acts, though one arrives; it is heard after them.

    Raises:
        RuntimeError: it came between them, or never, or its handler is not what it was, or the child outlives
            one that has the default action; then nothing of this can be swept.
    """

    def __init__(self) -> None:
        child = os.fork()
        if child == 0:
            # Nobody looks on: a handler that raises would end that.
            sys.setprofile(None)
            try:
                if _held() == ["both acts", "heard"] and signal.getsignal(signal.SIGINT) == _interrupt:
                    with held():
                        signal.raise_signal(signal.SIGTERM)
            finally:
                os._exit(1)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != -signal.SIGTERM:
            raise RuntimeError("the child did not end by its SIGTERM")
        self.size = configure()

    def close(self) -> None: ...


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _held() -> list[str]:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, _interrupt)
    done: list[str] = []
    try:
        with held():
            signal.raise_signal(signal.SIGINT)
            done.append("both acts")
    except KeyboardInterrupt:
        done.append("heard")
    with suppress(ZeroDivisionError), held():
        raise ZeroDivisionError
    return done


class InAnotherThread:
    """A construction that fails in another thread, where no signal can be held; the second try is made here.

    Raises:
        RuntimeError: the other thread saw another exception than the first.
    """

    def __init__(self) -> None:
        seen: list[BaseException] = []
        self.spare = Channel()

        def construct() -> None:
            try:
                self._fail()
            except BaseException as error:
                seen.append(error)

        try:
            thread = threading.Thread(target=construct)
            thread.start()
            thread.join()
            if not isinstance(seen[0], ZeroDivisionError):
                raise RuntimeError("another exception came out") from seen[0]
            self.size = configure()
        except BaseException:
            self.spare.close()
            raise

    @transactional("InAnotherThread")
    def _fail(self, transaction: OwnershipTransaction) -> None:
        transaction.acquire("here", Channel, release=fail(KeyboardInterrupt()), deadline=None)
        transaction.acquire("there", Channel, release="close")
        raise ZeroDivisionError

    def close(self) -> None:
        self.spare.close()


class FallsBack:
    """Its first choice fails and is rolled back in the ordinary course; then it takes the second.

    So the rollback itself can be interrupted, at every instruction of it.
    """

    def __init__(self) -> None:
        with suppress(ZeroDivisionError):
            FirstChoice()
        self.size = configure()

    def close(self) -> None: ...


class FallsBackUntilItIsToEnd:
    """The same, told to stop by a handler that raises SystemExit, as a server's does."""

    def __init__(self) -> None:
        before = signal.signal(signal.SIGTERM, _end)
        try:
            with suppress(ZeroDivisionError):
                FirstChoice()
            self.size = configure()
        except KeyboardInterrupt:
            # Nobody has sent that.
            os.pipe()
            raise
        finally:
            signal.signal(signal.SIGTERM, before)

    def close(self) -> None: ...


def _end(number: int, frame: object) -> None:
    raise SystemExit(143)


class FallsBackFromABlock:
    """The same, where the transaction of the first choice is a context manager."""

    def __init__(self) -> None:
        with suppress(ZeroDivisionError):
            FirstBlock()
        self.size = configure()

    def close(self) -> None: ...


class FirstBlock:
    """Never comes about."""

    def __init__(self) -> None:
        with OwnershipTransaction("FirstBlock", deadline=None) as transaction:
            transaction.acquire("first", Channel, release="close")
            transaction.acquire("second", Channel, release="close")
            raise ZeroDivisionError


class FirstChoice:
    """Never comes about."""

    @transactional("FirstChoice", deadline=None)
    def __init__(self, transaction: OwnershipTransaction) -> None:
        transaction.acquire("first", Channel, release="close")
        transaction.acquire("second", Channel, release="close")
        raise ZeroDivisionError


class Freezes:
    """Freezes the heap, adds a callback of the collector's and changes its switch and thresholds.

    Its normal release is its own: what `engine` left undone in both would pass for what always stays.
    """

    @transactional("Freezes", deadline=None)
    def __init__(self, transaction: OwnershipTransaction) -> None:
        state = transaction.own("GC state", GcState(), release=("before_unfreeze", "restore"))
        self.enabled, self.threshold = gc.isenabled(), gc.get_threshold()
        state.before_freeze()
        gc.freeze()
        gc.callbacks.append(_callback)
        (gc.disable if self.enabled else gc.enable)()
        gc.set_threshold(500, 5, 5)
        self.size = configure()

    def close(self) -> None:
        gc.set_threshold(*self.threshold)
        (gc.enable if self.enabled else gc.disable)()
        gc.callbacks.remove(_callback)
        gc.unfreeze()


def _callback(phase: str, info: dict[str, int]) -> None: ...


_callback.__module__ = "vllm.somewhere"
