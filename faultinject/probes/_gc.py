"""The garbage collector's settings."""

from __future__ import annotations

import gc
from collections.abc import Mapping

from faultinject.facts import Item
from faultinject.probes._compare import values_differ
from faultinject.probes._identity import name_of
from faultinject.probes._protocol import Cost, Nature

# Freezing a heap freezes tens of thousands of objects; fewer than this may all die by themselves.
_A_FREEZE = 1000


class GarbageCollector:
    """Whether it is enabled, its thresholds, debug flags and callbacks, and how many objects are frozen.

    Counting frozen objects walks over all of them: nothing without a freeze, 1 to 2 ms at half a million.
    """

    name: str = "gc"
    nature: Nature = "state"
    cost: Cost = "cheap"
    fork_visible: bool = True
    private: bool = True

    def unavailable(self) -> str | None:
        return None

    def snapshot(self) -> Mapping[str, Item]:
        callbacks = [f"{name_of(c)} at {id(c):#x}" for c in gc.callbacks]
        return {
            "enabled": _ENABLED if gc.isenabled() else _DISABLED,
            "thresholds": Item("gc thresholds", value=str(gc.get_threshold()), group="thresholds"),
            "freeze_count": Item("frozen objects", value=str(gc.get_freeze_count()), group="freeze_count"),
            "debug": Item("gc debug flags", value=str(gc.get_debug()), group="debug"),
            "callbacks": Item("gc callbacks", value=", ".join(callbacks), group="callbacks"),
        }

    def compare(self, key: str, before: Item | None, after: Item | None) -> bool:
        """A freeze is growth: the count falls by itself as frozen objects die (never to nothing)."""
        if key != "freeze_count":
            return values_differ(before, after)
        was = int(before.value) if before is not None else 0
        now = int(after.value) if after is not None else 0
        return now > was or (was >= _A_FREEZE and now == 0)


_ENABLED = Item("gc enabled", value="True", group="enabled")
_DISABLED = Item("gc enabled", value="False", group="enabled")
