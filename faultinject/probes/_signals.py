"""Signal handlers, the blocked signals of the calling thread, and interval timers."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

from faultinject.facts import Item
from faultinject.probes._compare import values_differ
from faultinject.probes._identity import name_of
from faultinject.probes._protocol import Cost, Nature

_SIGNALS = tuple(sorted(signal.valid_signals()))
_TIMERS = (("ITIMER_REAL", signal.ITIMER_REAL), ("ITIMER_VIRTUAL", signal.ITIMER_VIRTUAL))
_TIMER_NAMES = frozenset(name for name, _ in _TIMERS)


class Signals:
    """What Python knows of each signal's handler. Only reads.

    A handler that native code has installed shows as ``not from Python``. Not seen: the wake-up descriptor,
    which can only be read by setting it.
    """

    name: str = "signals"
    nature: Nature = "state"
    cost: Cost = "cheap"
    fork_visible: bool = True
    private: bool = True

    def __init__(self) -> None:
        # Addresses, not handlers: a probe must keep nothing alive. A handler's successor exists before the
        # handler goes, so it cannot have its address.
        self._seen: tuple[object, ...] = ()
        self._last: dict[str, Item] = {}

    def unavailable(self) -> str | None:
        return None

    def snapshot(self) -> Mapping[str, Item]:
        # The enum conversion of signal.getsignal is most of its cost.
        getter = getattr(signal, "_signal", signal).getsignal
        handlers = [getter(number) for number in _SIGNALS]
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        timers = tuple(signal.getitimer(which) != (0.0, 0.0) for _, which in _TIMERS)
        seen = (*map(id, handlers), frozenset(blocked), timers)
        if seen == self._seen:
            return self._last
        found: dict[str, Item] = {}
        for number, handler in zip(_SIGNALS, handlers, strict=True):
            name = _name(number)
            found[name] = Item(f"handler of {name}", value=_value(handler), group=name)
        shown = ", ".join(sorted(_name(number) for number in blocked))
        found["blocked"] = Item("blocked signals", value=shown, group="blocked")
        for (name, _), running in zip(_TIMERS, timers, strict=True):
            found[name] = Item(f"timer {name}", value="running" if running else "off", group=name)
        self._seen, self._last = seen, found
        return found

    def compare(self, key: str, before: Item | None, after: Item | None) -> bool:
        """A timer may run out by itself, and is not inherited by a fork: only one that started counts."""
        if key in _TIMER_NAMES:
            return (after is not None and after.value) == "running" and values_differ(before, after)
        return values_differ(before, after)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {int(number)}"


def _value(handler: Any) -> str:
    if handler is None:
        return "not from Python"
    if handler is signal.default_int_handler:
        return "default_int_handler"
    if isinstance(handler, int):
        return "default" if handler == signal.SIG_DFL else "ignored"
    return f"{name_of(handler)} at {id(handler):#x}"
