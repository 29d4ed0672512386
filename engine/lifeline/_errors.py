"""What goes wrong with a lifeline."""

from __future__ import annotations


class LifelineError(RuntimeError):
    """The guardian cannot be started or reached, or refuses: what was asked for is not guarded."""
