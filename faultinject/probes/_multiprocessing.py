"""multiprocessing's own table of children."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from faultinject.facts import Item
from faultinject.probes._groups import name_group
from faultinject.probes._identity import serial
from faultinject.probes._protocol import Cost, Nature


class MultiprocessingChildren:
    """``Process`` objects that multiprocessing still holds as its children, ended ones too.

    multiprocessing joins these at exit, so one that never ends keeps the interpreter from exiting. Nothing is
    polled: ``is_alive``, ``exitcode`` and ``active_children`` would reap a zombie.

    The resource tracker and the fork server are no children of this kind, are never to be accused, and are
    left out by ``processes`` and ``fds``.
    """

    name: str = "multiprocessing"
    nature: Nature = "resource"
    cost: Cost = "cheap"
    fork_visible: bool = True
    private: bool = True

    def unavailable(self) -> str | None:
        return None

    def snapshot(self) -> Mapping[str, Item]:
        children = getattr(sys.modules.get("multiprocessing.process"), "_children", None)
        if not children:
            return {}
        found: dict[str, Item] = {}
        for child in list(children):
            name = str(child.name)
            popen = getattr(child, "_popen", None)
            pid = getattr(popen, "pid", None)
            kind = " (daemon)" if getattr(child, "_config", {}).get("daemon") else ""
            ended = getattr(popen, "returncode", None)
            suffix = "" if ended is None else f", ended with {ended}"
            found[f"{pid}:{serial(child)}"] = Item(
                f"multiprocessing child {name!r}{kind} (pid {pid}{suffix})", group=name_group(name) + kind
            )
        return found
