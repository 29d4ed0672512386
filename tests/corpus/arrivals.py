"""Signals that arrive at any instruction: handled at the interpreter's next check, and nowhere else.

CPython checks at the start of a Python function, at a jump backwards, and after a call.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

from tests.corpus._parts import Channel, configure, measure
from tests.corpus._specimen import Specimen, at


def take() -> Channel:
    """A Python function hands its result over without a check; the call of a class ends with one."""
    return Channel()


class Airtight:
    """No check finds the channel without a handler: none comes before it is kept, nor after the `try`.

    Against an exception at any instruction it is not airtight: one on the way back would leave the channel.
    """

    def __init__(self) -> None:
        self._channel: Channel | None = None
        try:
            self._channel = take()
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None


class OneCallOutside:
    """A call stands between the channel and its `try`: its check has no handler."""

    def __init__(self) -> None:
        self._channel = take()
        self.size = configure()
        try:
            self.weight = measure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._channel.close()


class LosesTheHandle:
    """A C function hands the descriptor to nobody if a signal is handled right after the call."""

    def __init__(self) -> None:
        self._handle = -1
        try:
            self._handle = os.open(os.devnull, os.O_RDONLY)
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


class HoldsSignals:
    """Holds SIGINT while there is a handle that it has not kept, and sends it again afterwards."""

    def __init__(self) -> None:
        self._handle = -1
        self._held: list[int] = []
        before = signal.getsignal(signal.SIGINT)
        try:
            signal.signal(signal.SIGINT, self._hold)
            self._handle = os.open(os.devnull, os.O_RDONLY)
            signal.signal(signal.SIGINT, before)
            if self._held:
                signal.raise_signal(signal.SIGINT)
            self.size = configure()
        except BaseException:
            signal.signal(signal.SIGINT, before)
            self.close()
            raise

    def _hold(self, number: int, frame: FrameType | None) -> None:
        self._held.append(number)

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


class BlocksSignals:
    """The same, by the signal mask of the thread: the kernel holds what comes."""

    def __init__(self) -> None:
        self._handle = -1
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
            self._handle = os.open(os.devnull, os.O_RDONLY)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            self.size = configure()
        except BaseException:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            self.close()
            raise

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


class HoldsThemForGood:
    """Holds SIGINT, and forgets to send it again."""

    def __init__(self) -> None:
        self._held: list[int] = []
        before = signal.getsignal(signal.SIGINT)
        try:
            signal.signal(signal.SIGINT, self._hold)
            self.size = configure()
        finally:
            signal.signal(signal.SIGINT, before)

    def _hold(self, number: int, frame: FrameType | None) -> None:
        self._held.append(number)

    def close(self) -> None: ...


class HoldsThemAWhile:
    """The same, done right."""

    def __init__(self) -> None:
        self._held: list[int] = []
        before = signal.getsignal(signal.SIGINT)
        try:
            signal.signal(signal.SIGINT, self._hold)
            self.size = configure()
        finally:
            signal.signal(signal.SIGINT, before)
            if self._held:
                signal.raise_signal(signal.SIGINT)

    def _hold(self, number: int, frame: FrameType | None) -> None:
        self._held.append(number)

    def close(self) -> None: ...


class Lease:
    """Holds nothing that could be seen from outside: it is given back by `shutdown`, and by nothing else."""

    def __init__(self) -> None:
        self.ended = False

    def shutdown(self) -> None:
        self.ended = True


class SendsAndForgets:
    """Sends a held signal again where nobody ends the lease."""

    def __init__(self) -> None:
        self._held: list[int] = []
        before = signal.getsignal(signal.SIGINT)
        signal.signal(signal.SIGINT, self._hold)
        self._lease = Lease()
        signal.signal(signal.SIGINT, before)
        if self._held:
            signal.raise_signal(signal.SIGINT)

    def _hold(self, number: int, frame: FrameType | None) -> None:
        self._held.append(number)

    def close(self) -> None:
        self._lease.shutdown()


class SendsAndEnds:
    """The same, done right."""

    def __init__(self) -> None:
        self._held: list[int] = []
        self._lease: Lease | None = None
        before = signal.getsignal(signal.SIGINT)
        try:
            signal.signal(signal.SIGINT, self._hold)
            self._lease = Lease()
            signal.signal(signal.SIGINT, before)
            if self._held:
                signal.raise_signal(signal.SIGINT)
        except BaseException:
            signal.signal(signal.SIGINT, before)
            self.close()
            raise

    def _hold(self, number: int, frame: FrameType | None) -> None:
        self._held.append(number)

    def close(self) -> None:
        if self._lease is not None:
            self._lease.shutdown()
            self._lease = None


_ME = "tests.corpus.arrivals"
_AFTER_THE_CALL = ("LOAD_FAST", "STORE_ATTR")
"""Instructions of ``self.name = call()`` that come when the call has returned."""
_SIGNAL = ("SIGINT",)
_OPEN = "self._handle = os.open(os.devnull, os.O_RDONLY)"
_HOLD = "signal.signal(signal.SIGINT, self._hold)"
_RESTORE = "signal.signal(signal.SIGINT, before)"
_ON_THE_WAY_BACK = ("POP_TOP", "LOAD_CONST", "RETURN_*")

SPECIMENS = (
    Specimen(f"{_ME}:Airtight", "arrival", faults=_SIGNAL, level="opcodes"),
    Specimen(
        f"{_ME}:OneCallOutside",
        "arrival",
        "a call between the acquisition and its try",
        (
            *(at(one, "leak", line="self._channel = take()") for one in _AFTER_THE_CALL),
            *(at(one, "clean", line="self.size = configure()") for one in _AFTER_THE_CALL),
            at("*", "leak", line="self.size = configure()"),
        ),
        faults=_SIGNAL,
        level="opcodes",
    ),
    Specimen(
        f"{_ME}:LosesTheHandle",
        "arrival in a C call",
        "the signal is handled when the call has returned and nobody keeps its result yet",
        (
            *(at(one, "clean", line=_OPEN) for one in _AFTER_THE_CALL),
            at("*", "leak", line=_OPEN),
            at("*", "leak", line="self._handle = -1"),
            at("NOP", "leak", line="try:"),
        ),
        faults=_SIGNAL,
        level="opcodes",
    ),
    Specimen(f"{_ME}:HoldsSignals", "arrival in a C call", faults=_SIGNAL, level="opcodes"),
    Specimen(f"{_ME}:BlocksSignals", "arrival in a C call", faults=_SIGNAL, level="opcodes"),
    Specimen(
        f"{_ME}:HoldsThemForGood",
        "held signal",
        "the signal is held and never sent again",
        (
            at("POP_TOP", "handled", line=_HOLD),
            at("*", "handled", line="self.size = configure()"),
            *(at(one, "clean", line=_RESTORE) for one in _ON_THE_WAY_BACK),
            at("*", "handled", line=_RESTORE),
        ),
        faults=_SIGNAL,
        level="opcodes",
    ),
    Specimen(f"{_ME}:HoldsThemAWhile", "held signal", faults=_SIGNAL, level="opcodes"),
    Specimen(
        f"{_ME}:SendsAndForgets",
        "held signal",
        "what came while the signal was held is not given back when it is sent again",
        (
            at("POP_TOP", "leak", line=_HOLD),
            at("*", "leak", line="self._lease = Lease()"),
            at("POP_TOP", "clean", line=_RESTORE),
            at("*", "leak", line=_RESTORE),
        ),
        faults=_SIGNAL,
        level="opcodes",
    ),
    Specimen(f"{_ME}:SendsAndEnds", "held signal", faults=_SIGNAL, level="opcodes"),
)
