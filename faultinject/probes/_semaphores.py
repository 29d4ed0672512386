"""Named POSIX semaphores, which glibc and musl keep in ``/dev/shm``."""

from __future__ import annotations

import os
from collections.abc import Mapping

from faultinject.facts import Item
from faultinject.probes._groups import name_group, printable
from faultinject.probes._proc import needs_shm
from faultinject.probes._protocol import Cost, Nature
from faultinject.probes._shared_memory import DIRECTORY, SEMAPHORE


class Semaphores:
    """Semaphores of this user that still have a name.

    multiprocessing removes the name of a semaphore at once under the start method ``fork``, and keeps it
    under ``spawn`` and ``forkserver``. Without a name it is a mapping only, which ``mmaps`` sees.
    """

    name: str = "semaphores"
    nature: Nature = "resource"
    cost: Cost = "cheap"
    fork_visible: bool = True
    private: bool = False

    def unavailable(self) -> str | None:
        return needs_shm()

    def snapshot(self) -> Mapping[str, Item]:
        found: dict[str, Item] = {}
        user = os.geteuid()
        with os.scandir(DIRECTORY) as entries:
            for entry in entries:
                if not entry.name.startswith(SEMAPHORE):
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if status.st_uid == user:
                    name = printable(entry.name.removeprefix(SEMAPHORE))
                    found[f"{name}:{status.st_ino}"] = Item(
                        label=f"semaphore /{name}", group=name_group(name)
                    )
        return found
