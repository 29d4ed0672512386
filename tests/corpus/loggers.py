"""Logging handlers."""

from __future__ import annotations

import logging

from tests.corpus._parts import configure
from tests.corpus._specimen import Specimen, at

_LOGGER = logging.getLogger(__name__)


class KeptLogHandler:
    """Adds a handler that every later record goes through."""

    def __init__(self) -> None:
        self._handler = logging.NullHandler()
        _LOGGER.addHandler(self._handler)
        self.size = configure()

    def close(self) -> None:
        _LOGGER.removeHandler(self._handler)
        self._handler.close()


class RemovedLogHandler:
    """The same, done right."""

    def __init__(self) -> None:
        self._handler = logging.NullHandler()
        try:
            _LOGGER.addHandler(self._handler)
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        _LOGGER.removeHandler(self._handler)
        self._handler.close()


_ME = "tests.corpus.loggers"
SPECIMENS = (
    Specimen(f"{_ME}:KeptLogHandler", "logging", "a handler stays", (at("*:configure", "state"),)),
    Specimen(f"{_ME}:RemovedLogHandler", "logging"),
)
