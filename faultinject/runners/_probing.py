"""Looking through the probes until nothing moves any more."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal

from faultinject.runners._construct import Constructor
from faultinject.runners._messages import Settings
from faultinject.targets import Target
from faultinject.tracking import Entry, Ledger


def ignored(probe: str, key: str, target: Target, settings: Settings, also: tuple[str, ...] = ()) -> bool:
    """Whether the user, the target or `also` says that this is not to be judged."""
    if not target.ignore and not settings.ignore and not also:
        return False
    return any(fnmatchcase(f"{probe}:{key}", glob) for glob in (*target.ignore, *settings.ignore, *also))


def remaining(ledger: Ledger, excused: Mapping[tuple[str, str], int]) -> list[Entry]:
    """What is live of the target's and not excused, oldest first."""
    budget = Counter(dict(excused))
    left: list[Entry] = []
    for entry in sorted(ledger.live.values(), key=lambda e: e.order):
        key = (entry.probe, entry.key if entry.is_state else entry.item.group or entry.item.label)
        if budget[key] > 0:
            budget[key] -= 1
            continue
        left.append(entry)
    return left


def settle(
    ledger: Ledger,
    constructor: Constructor,
    limit: float,
    excused: Mapping[tuple[str, str], int] | None = None,
    cost: Literal["cheap", "all"] = "cheap",
) -> list[Entry]:
    """Look until nothing is left, or `limit` seconds have passed.

    Threads and processes end in their own time.

    Returns:
        What is left.
    """
    until = time.monotonic() + limit
    pause = 0.001
    while True:
        constructor.breathe()
        ledger.look(lambda: (), 0, states=False)
        left = remaining(ledger, excused or {})
        if not any(not e.is_state for e in left) or time.monotonic() >= until:
            ledger.look(lambda: (), 0, cost=cost)
            return remaining(ledger, excused or {})
        time.sleep(min(pause, max(0.0, until - time.monotonic())))
        pause = min(pause * 2, 0.05)
