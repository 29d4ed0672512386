"""Probes: what is live in this process now, kind by kind.

`load_probes` makes them, `ProbeSet` asks them together, `diff` and `state_changed` compare two snapshots,
and `check_probe` tells the author of a probe whether it keeps its promises.
"""

from faultinject.probes._compare import state_changed
from faultinject.probes._conformance import check_probe
from faultinject.probes._protocol import Cost, Nature, Probe
from faultinject.probes._registry import any_plugin, load_probes
from faultinject.probes._set import ProbeSet, Snapshot, diff

__all__ = [
    "Cost",
    "Nature",
    "Probe",
    "ProbeSet",
    "Snapshot",
    "any_plugin",
    "check_probe",
    "diff",
    "load_probes",
    "state_changed",
]
