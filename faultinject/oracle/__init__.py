"""Compares what was seen of a case with what the recording lets one expect. Pure: it reads facts only."""

from __future__ import annotations

from faultinject.oracle._judge import judge
from faultinject.oracle._problems import SEVERITY, main_problem

__all__ = ["SEVERITY", "judge", "main_problem"]
