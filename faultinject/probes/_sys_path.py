"""Where Python finds modules."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from faultinject.facts import Item
from faultinject.probes._groups import printable
from faultinject.probes._identity import name_of
from faultinject.probes._protocol import Cost, Nature


class SysPath:
    """``sys.path``, ``sys.meta_path`` and ``sys.path_hooks``, in order."""

    name: str = "sys.path"
    nature: Nature = "state"
    cost: Cost = "cheap"
    fork_visible: bool = True
    private: bool = True

    def unavailable(self) -> str | None:
        return None

    def snapshot(self) -> Mapping[str, Item]:
        path = ":".join(printable(str(entry)) for entry in list(sys.path))
        return {
            "path": Item("sys.path", value=path, group="path"),
            "meta_path": Item("sys.meta_path", value=_named(sys.meta_path), group="meta_path"),
            "path_hooks": Item("sys.path_hooks", value=_named(sys.path_hooks), group="path_hooks"),
        }


def _named(things: Sequence[object]) -> str:
    return ", ".join(f"{name_of(thing)} at {id(thing):#x}" for thing in list(things))
