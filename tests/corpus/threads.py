"""Threads. What `start` brought to life is the target's once `start` has returned."""

from __future__ import annotations

import threading

from tests.corpus._parts import configure
from tests.corpus._specimen import Specimen, at


class ForgottenThread:
    """Starts a thread that nobody tells to stop."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._stop.wait, args=(50,), daemon=True)
        self._thread.start()
        self.size = configure()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()


class JoinedThread:
    """The same, done right: a thread that was never started must not be joined."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        try:
            self._thread = threading.Thread(target=self._stop.wait, args=(50,), daemon=True)
            self._thread.start()
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None and self._thread.ident is not None:
            self._thread.join()


class ForgottenSecondThread:
    """Stops the first of its two threads only."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._stop_second = threading.Event()
        self._first = threading.Thread(target=self._stop.wait, args=(50,), daemon=True)
        self._second = threading.Thread(target=self._stop_second.wait, args=(50,), daemon=True)
        try:
            self._first.start()
            self._second.start()
            self.size = configure()
        except BaseException:
            self._stop.set()
            if self._first.ident is not None:
                self._first.join()
            raise

    def close(self) -> None:
        self._stop.set()
        self._stop_second.set()
        self._first.join()
        self._second.join()


_ME = "tests.corpus.threads"
SPECIMENS = (
    Specimen(
        f"{_ME}:ForgottenThread", "thread", "a started thread is never stopped", (at("*:configure", "leak"),)
    ),
    Specimen(f"{_ME}:JoinedThread", "thread"),
    Specimen(
        f"{_ME}:ForgottenSecondThread", "thread", "one of two threads stays", (at("*:configure", "leak"),)
    ),
)
