"""Functions to be run at exit."""

from __future__ import annotations

import atexit

from tests.corpus._parts import configure
from tests.corpus._specimen import Specimen, at


class KeptHook:
    """Registers a hook that keeps the failed object alive until the end."""

    def __init__(self) -> None:
        atexit.register(self._flush)
        self.size = configure()

    def _flush(self) -> None:
        """What is to be done at exit."""

    def close(self) -> None:
        atexit.unregister(self._flush)


class RemovedHook:
    """The same, done right."""

    def __init__(self) -> None:
        try:
            atexit.register(self._flush)
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def _flush(self) -> None:
        """What is to be done at exit."""

    def close(self) -> None:
        atexit.unregister(self._flush)


_ME = "tests.corpus.atexits"
SPECIMENS = (
    Specimen(f"{_ME}:KeptHook", "atexit", "a hook stays registered", (at("*:configure", "state"),)),
    Specimen(f"{_ME}:RemovedHook", "atexit"),
)
