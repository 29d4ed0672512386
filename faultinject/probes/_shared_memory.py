"""Shared-memory blocks: names in ``/dev/shm``, with their sizes."""

from __future__ import annotations

import os
from collections.abc import Mapping

from faultinject.facts import Item
from faultinject.probes._groups import name_group, printable
from faultinject.probes._proc import needs_shm
from faultinject.probes._protocol import Cost, Nature

DIRECTORY = "/dev/shm"
SEMAPHORE = "sem."


class SharedMemory:
    """Blocks of this user, by name and inode; semaphores are another probe's.

    A name says nothing of who made it: where other programs of the same user work at the same time,
    theirs are seen too. Blocks that are mapped but have no name any more are seen by ``mmaps``.
    """

    name: str = "shared memory"
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
                if entry.name.startswith(SEMAPHORE):
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if status.st_uid == user:
                    name = printable(entry.name)
                    found[f"{name}:{status.st_ino}"] = Item(
                        label=f"{DIRECTORY}/{name}",
                        amount=status.st_size,
                        unit="bytes",
                        group=name_group(name),
                    )
        return found
