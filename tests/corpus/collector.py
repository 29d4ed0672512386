"""The garbage collector's state."""

from __future__ import annotations

import gc

from tests.corpus._parts import configure
from tests.corpus._specimen import Specimen, at

_THRESHOLDS = (50_001, 17, 19)


class DisabledCollector:
    """Switches the collector off and leaves it off."""

    def __init__(self) -> None:
        gc.disable()
        self.size = configure()

    def close(self) -> None:
        gc.enable()


class EnabledCollector:
    """The same, done right: only what was on is switched on again."""

    def __init__(self) -> None:
        self._was_enabled = gc.isenabled()
        try:
            gc.disable()
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._was_enabled:
            gc.enable()


class FrozenHeap:
    """Freezes the heap and never unfreezes it."""

    def __init__(self) -> None:
        gc.freeze()
        self.size = configure()

    def close(self) -> None:
        gc.unfreeze()


class UnfrozenHeap:
    """The same, done right: a heap that somebody else froze is left alone, as it cannot be restored."""

    def __init__(self) -> None:
        self._was_frozen = gc.get_freeze_count() > 0
        try:
            if not self._was_frozen:
                gc.freeze()
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if not self._was_frozen:
            gc.unfreeze()


class KeptThresholds:
    """Changes the thresholds and does not restore them."""

    def __init__(self) -> None:
        self._before = gc.get_threshold()
        gc.set_threshold(*_THRESHOLDS)
        self.size = configure()

    def close(self) -> None:
        gc.set_threshold(*self._before)


class RestoredThresholds:
    """The same, done right."""

    def __init__(self) -> None:
        self._before = gc.get_threshold()
        try:
            gc.set_threshold(*_THRESHOLDS)
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        gc.set_threshold(*self._before)


_ME = "tests.corpus.collector"
SPECIMENS = (
    Specimen(f"{_ME}:DisabledCollector", "gc", "the collector stays off", (at("*:configure", "state"),)),
    Specimen(f"{_ME}:EnabledCollector", "gc"),
    Specimen(f"{_ME}:FrozenHeap", "gc", "the heap stays frozen", (at("*:configure", "state"),)),
    Specimen(f"{_ME}:UnfrozenHeap", "gc"),
    Specimen(f"{_ME}:KeptThresholds", "gc", "the thresholds stay changed", (at("*:configure", "state"),)),
    Specimen(f"{_ME}:RestoredThresholds", "gc"),
)
