"""Signal handlers."""

from __future__ import annotations

import signal
from types import FrameType

from tests.corpus._parts import configure
from tests.corpus._specimen import Specimen, at


def _ignore(number: int, frame: FrameType | None) -> None:
    """A handler that does nothing."""


class KeptHandler:
    """Installs a handler that stays when a later step fails."""

    def __init__(self) -> None:
        self._before = signal.signal(signal.SIGUSR1, _ignore)
        self.size = configure()

    def close(self) -> None:
        signal.signal(signal.SIGUSR1, self._before)


class RestoredHandler:
    """The same, done right: the old handler is known before it is replaced."""

    def __init__(self) -> None:
        self._before = signal.getsignal(signal.SIGUSR1)
        try:
            signal.signal(signal.SIGUSR1, _ignore)
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        signal.signal(signal.SIGUSR1, self._before)


_ME = "tests.corpus.signals"
SPECIMENS = (
    Specimen(
        f"{_ME}:KeptHandler", "signal handler", "a handler stays installed", (at("*:configure", "state"),)
    ),
    Specimen(f"{_ME}:RestoredHandler", "signal handler"),
)
