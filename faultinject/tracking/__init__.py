"""Following a target while it runs: what is called, what comes to life, what is given back."""

from __future__ import annotations

from faultinject.tracking._ledger import Entry, Ledger, Path, charged
from faultinject.tracking._levels import Identifier, Site
from faultinject.tracking._lines import loaded_modules
from faultinject.tracking._names import frame_name, is_release_name, is_stdlib, short_callee
from faultinject.tracking._objects import OwnedObject, acquisition_of, make_owned
from faultinject.tracking._own import CalledDirectly, OwnNames
from faultinject.tracking._second import AwaitedRelease
from faultinject.tracking._tracker import FaultSeen, PointHandler, Tracker
from faultinject.tracking._unwinding import Unwinding

__all__ = [
    "AwaitedRelease",
    "CalledDirectly",
    "Entry",
    "FaultSeen",
    "Identifier",
    "Ledger",
    "OwnNames",
    "OwnedObject",
    "Path",
    "PointHandler",
    "Site",
    "Tracker",
    "Unwinding",
    "acquisition_of",
    "charged",
    "frame_name",
    "is_release_name",
    "is_stdlib",
    "loaded_modules",
    "make_owned",
    "short_callee",
]
