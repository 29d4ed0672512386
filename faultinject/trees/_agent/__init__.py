"""What runs within each process of a tree: says that it is there, and waits at milestones.

Made of the standard library alone, and importable under any name: a process of the tree may be another
environment's interpreter, in which `faultinject` is not installed. Only an injected exception is made by
`faultinject.faults`, where that can be imported.
"""

from __future__ import annotations

from ._armed import arm, arrive, missing, prepare, say

__all__ = ["arm", "arrive", "missing", "prepare", "say"]
