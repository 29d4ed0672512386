"""The second fault of a case, waiting at one release of the clean-up."""

from __future__ import annotations

import contextlib
import threading
import weakref
from _thread import allocate_lock  # its own reference: a target may put something else in its place
from collections.abc import Callable

from faultinject.facts import Case
from faultinject.faults import FaultSpec, deliver, make, parse_fault, parse_second
from faultinject.runners._messages import Expectation
from faultinject.tracking import AwaitedRelease


class ArmedSecond:
    """Raises, sends or hangs at one release, once, in whichever thread it runs.

    As in `Armed`, nothing here keeps an exception in a variable while it is on its way.

    Args:
        on_strike: told just before, with the kernel's number of the thread in which the release is to hang,
            or with 0.
    """

    def __init__(self, case: Case, expectation: Expectation, on_strike: Callable[[int], None]) -> None:
        self.fault = parse_second(case.second)
        self.on_strike = on_strike
        self.spec: FaultSpec | None = None if self.fault.hangs else parse_fault(self.fault.fault)
        if self.spec is not None and self.spec.kind == "exception":
            make(self.spec)  # its module is imported here, and not while a clean-up waits
        rows = [row for row in expectation.owned if f"{row.name}.{row.release}" == self.fault.release]
        row = rows[0] if rows else None
        name, release = (row.name, row.release) if row else _apart(self.fault.release)
        by_function = row is not None and not row.made_in
        self.awaited = AwaitedRelease(name, release, self.fault.phase, self._strike, by_function)
        self._injected: list[weakref.ref[BaseException]] = []
        self._box: list[BaseException] = []
        self._signalled = 0
        self.keeps_from_ending = False
        """Whether a release hangs in a thread that the interpreter waits for at its end."""

    @property
    def undone(self) -> bool:
        """Whether the release never did its work: what it would have given back can be in the way."""
        return self.awaited.reached and self.fault.gives_nothing_back

    def is_injected(self, exception: BaseException) -> bool:
        """Whether `exception` is the second fault: by identity."""
        return any(one() is exception for one in self._injected) or id(exception) == self._signalled

    def _strike(self) -> None:
        if self.spec is None:
            self._hang()
        elif self.spec.kind == "signal":
            self._signal()
        else:
            self._raise()

    def _raise(self) -> None:
        assert self.spec is not None
        exception = make(self.spec, f"{self.fault.phase} {self.fault.release}")
        with contextlib.suppress(TypeError):
            self._injected.append(weakref.ref(exception))
        self._box.append(exception)
        del exception
        self.on_strike(0)
        raise self._box.pop()

    def _signal(self) -> None:
        assert self.spec is not None
        self.on_strike(0)
        try:
            deliver(self.spec)
        except BaseException as exception:
            self._signalled = id(exception)
            raise

    def _hang(self) -> None:
        self.keeps_from_ending = not threading.current_thread().daemon
        self.on_strike(threading.get_native_id())
        lock = allocate_lock()
        lock.acquire()
        lock.acquire()


def _apart(release: str) -> tuple[str, str]:
    name, _, method = release.rpartition(".")
    return name, method
