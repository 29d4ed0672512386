"""The logging tree."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from faultinject.facts import Item
from faultinject.probes._identity import name_of, serial
from faultinject.probes._protocol import Cost, Nature


class Logging:
    """Handlers, levels and switches of every logger that has any, and logging's module-wide settings.

    A logger that only has its defaults is no item: that a module asked for its logger changes nothing.
    ``shutdown registry`` is the list of handlers that logging flushes at exit; ``dictConfig`` empties it
    before it builds the new handlers, so a failing one leaves the old handlers unflushed.
    """

    name: str = "logging"
    nature: Nature = "state"
    cost: Cost = "cheap"
    fork_visible: bool = True
    private: bool = True

    def __init__(self) -> None:
        # A large program has hundreds of loggers that are only switched to a level.
        self._known: dict[str, tuple[tuple[object, ...], Item]] = {}

    def unavailable(self) -> str | None:
        return None

    def snapshot(self) -> Mapping[str, Item]:
        logging: Any = sys.modules.get("logging")
        # A module that is being imported has only some of its names.
        if logging is None or not hasattr(logging, "lastResort"):
            return {}
        found: dict[str, Item] = {}
        root = logging.root
        if root.handlers or root.level != logging.WARNING or root.disabled or root.filters:
            found["root"] = _logger(logging, "root", root)
        placeholder, known, fresh = logging.PlaceHolder, self._known, {}
        for name, logger in list(root.manager.loggerDict.items()):
            if type(logger) is placeholder:
                continue
            if logger.handlers or logger.level or not logger.propagate or logger.disabled or logger.filters:
                plain = not logger.handlers and not logger.filters
                signature = (logger.level, logger.propagate, logger.disabled)
                entry = known.get(name)
                if not plain or entry is None or entry[0] != signature:
                    entry = signature, _logger(logging, name, logger)
                if plain:
                    fresh[name] = entry
                found["logger " + name] = entry[1]
        self._known = fresh
        # Not a handler of the user's, and registered by the import of logging itself.
        last = logging.lastResort
        registry = [
            handler for reference in list(logging._handlerList) if (handler := reference()) is not None
        ]
        shown = [_handler(handler) for handler in registry if handler is not last]
        if shown:
            found["shutdown registry"] = Item(
                "handlers that logging flushes at exit", value=", ".join(shown), group="shutdown registry"
            )
        if root.manager.disable:
            found["disable"] = Item("logging.disable", value=str(root.manager.disable), group="disable")
        if not logging.raiseExceptions:
            found["raiseExceptions"] = Item("logging.raiseExceptions", value="False", group="raiseExceptions")
        for name, what, default in (
            ("lastResort", last, logging._defaultLastResort),
            ("logger class", logging._loggerClass, logging.Logger),
            ("record factory", logging._logRecordFactory, logging.LogRecord),
            ("captureWarnings", logging._warnings_showwarning, None),
        ):
            if what is not default:
                found[name] = Item(f"logging's {name}", value=f"{name_of(what)} at {id(what):#x}", group=name)
        return found

    def compare(self, key: str, before: Item | None, after: Item | None) -> bool:
        """Whether a change counts.

        Every handler enters the shutdown registry as it is made and leaves it as it dies (weak references):
        so only one that was there before and is missing has been taken out by somebody.
        """
        if key == "shutdown registry":
            then = before.value.split(", ") if before is not None else []
            now = after.value.split(", ") if after is not None else []
            return any(handler not in now for handler in then)
        return (before.value if before is not None else None) != (after.value if after is not None else None)


def _logger(logging: Any, name: str, logger: Any) -> Item:
    value = f"level={logging.getLevelName(logger.level)}"
    if not logger.propagate:
        value += " propagate=False"
    if logger.disabled:
        value += " disabled"
    if logger.handlers:
        value += f" handlers={', '.join(map(_handler, list(logger.handlers)))}"
    if logger.filters:
        value += f" filters={', '.join(name_of(f) + '#' + serial(f) for f in list(logger.filters))}"
    return Item(f"logger {name}", value=value, group=f"logger {name}")


def _handler(handler: object) -> str:
    return f"{type(handler).__name__}#{serial(handler)}"
