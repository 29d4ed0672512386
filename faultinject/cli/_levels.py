"""What sweeps at which level."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faultinject.sweep import Options, Sweep


def sweep_class(options: Options) -> type[Sweep]:
    """The kind of `Sweep` for the level of the options."""
    if options.level == "milestones":
        from faultinject.trees import TreeSweep

        return TreeSweep
    from faultinject.sweep import Sweep

    return Sweep
