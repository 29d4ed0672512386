"""Event loops."""

from __future__ import annotations

import asyncio

from tests.corpus._parts import configure, unique
from tests.corpus._specimen import Specimen, at

_LOOPS: dict[str, asyncio.AbstractEventLoop] = {}


class ForgottenLoop:
    """Leaves a loop of its own unclosed in a table of all loops."""

    def __init__(self) -> None:
        self._name = unique("loop")
        _LOOPS[self._name] = asyncio.new_event_loop()
        self.size = configure()

    def close(self) -> None:
        _LOOPS.pop(self._name).close()


class ClosedLoop:
    """The same, done right."""

    def __init__(self) -> None:
        self._name = unique("loop")
        _LOOPS[self._name] = asyncio.new_event_loop()
        try:
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        _LOOPS.pop(self._name).close()


_ME = "tests.corpus.loops"
SPECIMENS = (
    Specimen(f"{_ME}:ForgottenLoop", "event loop", "a loop is never closed", (at("*:configure", "leak"),)),
    Specimen(f"{_ME}:ClosedLoop", "event loop"),
)
