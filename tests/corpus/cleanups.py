"""A clean-up that never ends, or that ends the whole process."""

from __future__ import annotations

import os
import signal
import threading

from tests.corpus._parts import configure
from tests.corpus._specimen import Specimen, at


class WaitsForEver:
    """Waits, without a bound that helps, for an answer that nobody will give."""

    def __init__(self) -> None:
        self._answer = threading.Event()
        try:
            self.size = configure()
        except BaseException:
            self._answer.wait(50)
            raise


class WaitsWithBound:
    """The same, done right."""

    def __init__(self) -> None:
        self._answer = threading.Event()
        try:
            self.size = configure()
        except BaseException:
            self._answer.wait(0.001)
            raise


class ExitsProcess:
    """Takes the whole program down with it."""

    def __init__(self) -> None:
        try:
            self.size = configure()
        except BaseException:
            os._exit(3)


class KillsProcess:
    """Sends a signal to what it takes for its child: itself."""

    def __init__(self) -> None:
        try:
            self.size = configure()
        except BaseException:
            os.kill(os.getpid(), signal.SIGKILL)
            raise


class LetsProcessLive:
    """The same, done right: the caller decides what becomes of the process."""

    def __init__(self) -> None:
        self._answer = threading.Event()
        try:
            self.size = configure()
        except BaseException:
            self._answer.set()
            raise


_ME = "tests.corpus.cleanups"
SPECIMENS = (
    Specimen(
        f"{_ME}:WaitsForEver",
        "hang",
        "the clean-up hangs",
        (at("*:configure", "hang"),),
        release="",
        faults=("RuntimeError",),
        time_limit=2.0,
    ),
    Specimen(f"{_ME}:WaitsWithBound", "hang", release=""),
    Specimen(
        f"{_ME}:ExitsProcess", "crash", "os._exit in the clean-up", (at("*:configure", "crash"),), release=""
    ),
    Specimen(
        f"{_ME}:KillsProcess",
        "crash",
        "the clean-up kills the process",
        (at("*:configure", "crash"),),
        release="",
    ),
    Specimen(f"{_ME}:LetsProcessLive", "crash", release=""),
)
