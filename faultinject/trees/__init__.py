"""Faults in a tree of processes: when one process comes to a milestone, something is done to one of them.

A conductor runs the target beneath itself (`_conductor`, `_case`), an agent in each process says where it is
and waits (`_agent`), and what is left is seen from outside (`_ending`). `faultinject.oracle` judges it. The
names here that a target needs are light; `TreeSweep` and its like are loaded when they are asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from faultinject.trees._declared import Milestone as Milestone

if TYPE_CHECKING:
    from faultinject.trees._fault import TreeFault as TreeFault
    from faultinject.trees._fault import parse_tree_fault as parse_tree_fault
    from faultinject.trees._fault import parse_tree_faults as parse_tree_faults
    from faultinject.trees._messages import TreeObservation as TreeObservation
    from faultinject.trees._pool import TreePool as TreePool
    from faultinject.trees._render import render_case as render_case
    from faultinject.trees._render import render_milestones as render_milestones
    from faultinject.trees._sweep import TreeSweep as TreeSweep
    from faultinject.trees._sweep import discover_tree as discover_tree
    from faultinject.trees._sweep import replay_tree as replay_tree

_LAZY = {
    "TreeFault": "_fault",
    "parse_tree_fault": "_fault",
    "parse_tree_faults": "_fault",
    "TreeObservation": "_messages",
    "TreePool": "_pool",
    "render_case": "_render",
    "render_milestones": "_render",
    "TreeSweep": "_sweep",
    "discover_tree": "_sweep",
    "replay_tree": "_sweep",
}

__all__ = ["Milestone", *sorted(_LAZY)]


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
