"""What sweeps at which level."""

from __future__ import annotations

from faultinject.sweep._options import Options
from faultinject.sweep._sweep import Sweep


def sweep_class(options: Options) -> type[Sweep]:
    """The kind of `Sweep` for the level of the options."""
    if options.level == "milestones":
        # It builds on `Sweep`, and is needed by few.
        from faultinject.trees import TreeSweep

        return TreeSweep
    return Sweep
