"""A second try that fails, because the first left a name taken."""

from __future__ import annotations

import gc
import os
import socket

from tests.corpus._parts import configure
from tests.corpus._specimen import Specimen, at

_BOUND: dict[str, socket.socket] = {}
_SLOTS: dict[str, object] = {}


class TakenAddress:
    """Leaves its fixed address bound: the next one cannot bind it."""

    def __init__(self) -> None:
        self._address = f"\0faultinject-taken-{os.getpid()}"
        endpoint = socket.socket(socket.AF_UNIX)
        _BOUND[self._address] = endpoint
        endpoint.bind(self._address)
        self.size = configure()

    def close(self) -> None:
        _BOUND.pop(self._address).close()


class FreedAddress:
    """The same, done right."""

    def __init__(self) -> None:
        self._address = f"\0faultinject-freed-{os.getpid()}"
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.bind(self._address)
            self.size = configure()
        except BaseException:
            self._socket.close()
            raise

    def close(self) -> None:
        self._socket.close()


class TakenSlot:
    """Only one at a time, and a failed one counts: nothing but the second try shows it."""

    def __init__(self) -> None:
        if "kept" in _SLOTS:
            raise RuntimeError("there is one already")
        _SLOTS["kept"] = self
        self.size = configure()

    def close(self) -> None:
        del _SLOTS["kept"]


class FreedSlot:
    """The same, done right."""

    def __init__(self) -> None:
        if "freed" in _SLOTS:
            raise RuntimeError("there is one already")
        _SLOTS["freed"] = self
        try:
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        del _SLOTS["freed"]


class TidiesTheSecondTime:
    """Leaves a file to the collector, which comes by itself only to the second construction: that does not
    hold less than the first did."""

    def __init__(self) -> None:
        again = "begun" in _SLOTS
        _SLOTS["begun"] = True
        file = open("/dev/null", "rb")
        try:
            self._leave_to_the_collector([file])
            self.size = configure()
        except BaseException:
            file.close()
            raise
        if again:
            del file
            gc.collect()

    def _leave_to_the_collector(self, dropped: list[object]) -> None:
        dropped.append(dropped)

    def close(self) -> None:
        gc.collect()


_ME = "tests.corpus.retries"
SPECIMENS = (
    Specimen(
        f"{_ME}:TakenAddress",
        "retry",
        "an address stays bound",
        (at("*bind", "leak"), at("*:configure", "leak")),
    ),
    Specimen(f"{_ME}:FreedAddress", "retry"),
    Specimen(f"{_ME}:TakenSlot", "retry", "only a second try fails", (at("*:configure", "state"),)),
    Specimen(f"{_ME}:FreedSlot", "retry"),
    Specimen(f"{_ME}:TidiesTheSecondTime", "retry"),
)
