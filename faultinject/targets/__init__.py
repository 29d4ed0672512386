"""Targets: the callables under test, and how one is found from its name."""

from __future__ import annotations

from faultinject.targets._pyproject import as_table, find_pyproject, read_section
from faultinject.targets._resolve import resolve
from faultinject.targets._target import Call, Target, TargetSpec

__all__ = ["Call", "Target", "TargetSpec", "as_table", "find_pyproject", "read_section", "resolve"]
