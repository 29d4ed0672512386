"""The working directory and the file mode mask."""

from __future__ import annotations

import os
from collections.abc import Mapping

from faultinject.facts import Item
from faultinject.probes._groups import printable
from faultinject.probes._proc import needs_proc, read
from faultinject.probes._protocol import Cost, Nature


class WorkingDirectory:
    """``os.getcwd()`` and the umask; ``os.umask`` can only be asked by setting it, so the kernel is asked."""

    name: str = "working directory"
    nature: Nature = "state"
    cost: Cost = "cheap"
    fork_visible: bool = True
    private: bool = True

    def unavailable(self) -> str | None:
        return needs_proc()

    def snapshot(self) -> Mapping[str, Item]:
        try:
            directory = printable(os.getcwd())
        except FileNotFoundError:
            directory = "(removed)"
        status = read("/proc/self/status")
        start = status.find(b"Umask:")
        mask = status[start + 6 : status.find(b"\n", start)].strip().decode() if start >= 0 else "unknown"
        return {
            "cwd": Item("working directory", value=directory, group="cwd"),
            "umask": Item("umask", value=mask, group="umask"),
        }
