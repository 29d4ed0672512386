"""Warning filters and how warnings are shown."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from faultinject.facts import Item
from faultinject.probes._identity import name_of
from faultinject.probes._protocol import Cost, Nature

_FUNCTIONS = ("showwarning", "formatwarning", "_showwarnmsg_impl")


class Warnings:
    """``warnings.filters`` in order, the default action, and the functions that show a warning.

    The filters are compared by what they say, so a ``catch_warnings`` that has ended left no trace. Which
    warnings were already shown once is not looked at.
    """

    name: str = "warnings"
    nature: Nature = "state"
    cost: Cost = "cheap"
    fork_visible: bool = True
    private: bool = True

    def __init__(self) -> None:
        self._seen: tuple[int, ...] = ()
        self._last = Item("warning filters", value="", group="filters")

    def unavailable(self) -> str | None:
        return None

    def snapshot(self) -> Mapping[str, Item]:
        warnings: Any = sys.modules.get("warnings")
        if warnings is None:
            return {}
        filters = list(getattr(warnings, "filters", ()))
        seen = tuple(map(id, filters))
        if seen != self._seen or not seen:
            self._last = Item("warning filters", value="; ".join(map(_filter, filters)), group="filters")
            self._seen = seen
        found = {"filters": self._last}
        action = str(getattr(warnings, "defaultaction", "default"))
        found["default action"] = Item("default action of warnings", value=action, group="default action")
        for name in _FUNCTIONS:
            function = getattr(warnings, name, None)
            if function is not None:
                value = f"{name_of(function)} at {id(function):#x}"
                found[name] = Item(f"warnings.{name}", value=value, group=name)
        return found


def _filter(entry: tuple[Any, ...]) -> str:
    action, message, category, module, line = entry
    parts = [action]
    for pattern in (message, module):
        parts.append(getattr(pattern, "pattern", pattern) or "")
    parts.insert(2, name_of(category))
    return ":".join([*map(str, parts), str(line)]) if line else ":".join(map(str, parts))
