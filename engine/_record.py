"""What a transaction remembers of itself: text and numbers, so that nothing is kept alive."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

What = Literal[
    "acquired",
    "committed",
    "released",
    "release failed",
    "escalated",
    "abandoned",
    "signal held",
    "interrupted",
    "not prepared",
    "log failed",
]


@dataclass(frozen=True)
class Event:
    """One thing that happened in a transaction.

    Attributes:
        what: the kind.
        name: the resource, with the release where there is one: ``pool.shutdown``.
        error: type and message of the exception, if there was one.
        at: seconds, by `time.monotonic`.
    """

    what: What
    name: str
    error: str = ""
    at: float = 0.0

    @classmethod
    def now(cls, what: What, name: str, error: BaseException | None = None) -> Event:
        """The event, at this moment."""
        said = ""
        if error is not None:
            try:
                said = f"{type(error).__qualname__}: {error}"
            except Exception:
                said = type(error).__qualname__
        return cls(what, name, said, time.monotonic())
