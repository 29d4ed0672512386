"""The flow, end to end: record, choose points, screen, confirm, repeat, report."""

from __future__ import annotations

from faultinject.sweep._case_by_case import CaseByCase, Judged
from faultinject.sweep._levels import sweep_class
from faultinject.sweep._options import Options
from faultinject.sweep._plan import can_fail
from faultinject.sweep._recording import discover
from faultinject.sweep._sweep import Sweep, pool_of, replay

__all__ = [
    "CaseByCase",
    "Judged",
    "Options",
    "Sweep",
    "can_fail",
    "discover",
    "pool_of",
    "replay",
    "sweep_class",
]
