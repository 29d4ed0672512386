"""Isolation of a case: a process of its own, watched from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from faultinject.runners._messages import Expectation, Ready, Record, Recorded, RunCase, Screen, Settings
from faultinject.runners._pool import Pool, Start

if TYPE_CHECKING:
    from faultinject.runners._block import BlockPool as BlockPool
    from faultinject.runners._block import BlockRun as BlockRun
    from faultinject.runners._lane import InBlock as InBlock

__all__ = [
    "BlockPool",
    "BlockRun",
    "Expectation",
    "InBlock",
    "Pool",
    "Ready",
    "Record",
    "Recorded",
    "RunCase",
    "Screen",
    "Settings",
    "Start",
]


def __getattr__(name: str) -> Any:
    # These bring what only a case's process needs, and the sweep's own side does without.
    if name in ("BlockPool", "BlockRun", "InBlock"):
        from faultinject.runners import _block

        return getattr(_block, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
