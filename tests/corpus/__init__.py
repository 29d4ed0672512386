"""The truth that judges the judge: small constructors with a known defect, or deliberately none.

`SPECIMENS` is gathered when it is first asked for, so that a process which imports one specimen does
not import them all.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tests.corpus._specimen import Expect, Specimen, at, expectation, expected_verdict

if TYPE_CHECKING:
    SPECIMENS: tuple[Specimen, ...]

__all__ = ["SPECIMENS", "Expect", "Specimen", "at", "expectation", "expected_verdict"]

MODULES = (
    "processes", "threads", "descriptors", "sockets", "memory", "files", "locks", "signals", "settings",
    "loggers", "collector", "atexits", "loops", "twice", "order", "foreign", "segments", "handlers",
    "masking", "tracebacks", "swallowing", "cleanups", "exits", "retries", "nested", "inheritance",
    "coroutines", "managers", "factories", "second_faults", "own_frames", "arrivals",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name != "SPECIMENS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = tuple(
        specimen for module in MODULES for specimen in import_module(f"{__name__}.{module}").SPECIMENS
    )
    globals()["SPECIMENS"] = found
    return found
