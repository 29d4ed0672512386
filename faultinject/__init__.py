"""Finds every place where a constructor can fail, makes it fail there, and judges what it gave back.

The public names are loaded when they are first asked for, so that ``import faultinject`` stays cheap
enough for a command-line completion or a pytest plugin that is installed but not used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faultinject.errors import FaultinjectError as FaultinjectError
    from faultinject.errors import HookTakenError as HookTakenError
    from faultinject.errors import TargetError as TargetError
    from faultinject.errors import UsageError as UsageError
    from faultinject.facts import Acquisition as Acquisition
    from faultinject.facts import Case as Case
    from faultinject.facts import CaseResult as CaseResult
    from faultinject.facts import Finding as Finding
    from faultinject.facts import Item as Item
    from faultinject.facts import Left as Left
    from faultinject.facts import Observation as Observation
    from faultinject.facts import Owned as Owned
    from faultinject.facts import Point as Point
    from faultinject.facts import Problem as Problem
    from faultinject.facts import Raised as Raised
    from faultinject.facts import Recording as Recording
    from faultinject.facts import ReleaseCall as ReleaseCall
    from faultinject.facts import StateChange as StateChange
    from faultinject.facts import Step as Step
    from faultinject.facts import Summary as Summary
    from faultinject.faults import FaultSpec as FaultSpec
    from faultinject.faults import InjectedFault as InjectedFault
    from faultinject.faults import parse_faults as parse_faults
    from faultinject.targets import Target as Target
    from faultinject.targets import TargetSpec as TargetSpec
    from faultinject.targets import resolve as resolve

__version__ = "0.1.0"

_LAZY: dict[str, str] = {
    **dict.fromkeys(
        ("FaultinjectError", "HookTakenError", "TargetError", "UsageError"), "faultinject.errors"
    ),
    **dict.fromkeys(
        (
            "Acquisition",
            "Case",
            "CaseResult",
            "Finding",
            "Item",
            "Left",
            "Observation",
            "Owned",
            "Point",
            "Problem",
            "Raised",
            "Recording",
            "ReleaseCall",
            "StateChange",
            "Step",
            "Summary",
        ),
        "faultinject.facts",
    ),
    **dict.fromkeys(("FaultSpec", "InjectedFault", "parse_faults"), "faultinject.faults"),
    **dict.fromkeys(("Target", "TargetSpec", "resolve"), "faultinject.targets"),
}
"""Public name -> the module that has it."""

__all__ = ["__version__", *sorted(_LAZY)]


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
