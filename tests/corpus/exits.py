"""A program that can no longer exit, after a constructor has failed."""

from __future__ import annotations

import atexit
import itertools
import multiprocessing
import threading
import time

from tests.corpus._parts import configure
from tests.corpus._specimen import Specimen, at

_FORK = multiprocessing.get_context("fork")
_KEYS = itertools.count(1)
_AWAITED: dict[int, threading.Event] = {}


def _wait_for_all() -> None:
    for event in list(_AWAITED.values()):
        event.wait(50)


atexit.register(_wait_for_all)


class AwaitedAtExit:
    """Is waited for at exit, though nothing will ever finish it; nothing else tells that it was there."""

    def __init__(self) -> None:
        self._key = next(_KEYS)
        self._done = threading.Event()
        _AWAITED[self._key] = self._done
        self.size = configure()

    def close(self) -> None:
        del _AWAITED[self._key]


class NotAwaitedAtExit:
    """The same, done right."""

    def __init__(self) -> None:
        self._key = next(_KEYS)
        self._done = threading.Event()
        _AWAITED[self._key] = self._done
        try:
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        del _AWAITED[self._key]


class BlockingThread:
    """A thread that is no daemon and waits for ever: the leak, not the exit, is what is reported."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._stop.wait, args=(50,))
        self._thread.start()
        self.size = configure()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()


class EndedBlockingThread:
    """The same, done right."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._stop.wait, args=(50,))
        try:
            self._thread.start()
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()


class BlockingChild:
    """A child that is no daemon: multiprocessing joins it at exit."""

    def __init__(self) -> None:
        self._child = _FORK.Process(target=time.sleep, args=(50,))
        self._child.start()
        self.size = configure()

    def close(self) -> None:
        self._child.kill()
        self._child.join()
        self._child.close()


_ME = "tests.corpus.exits"
SPECIMENS = (
    Specimen(
        f"{_ME}:AwaitedAtExit",
        "exit",
        "waited for at exit without end",
        (at("*:configure", "hang"),),
        faults=("RuntimeError",),
        time_limit=2.0,
    ),
    Specimen(f"{_ME}:NotAwaitedAtExit", "exit"),
    Specimen(
        f"{_ME}:BlockingThread",
        "exit",
        "a waiting thread stays",
        (at("*:configure", "leak"),),
        time_limit=2.0,
    ),
    Specimen(f"{_ME}:EndedBlockingThread", "exit"),
    Specimen(
        f"{_ME}:BlockingChild", "exit", "a sleeping child stays", (at("*:configure", "leak"),), time_limit=2.0
    ),
)
