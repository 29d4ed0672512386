"""Whose name is it? ``/dev/shm`` is the machine's, and other programs make names there at the same time."""

from __future__ import annotations

import os
from os import listdir  # its own reference: a target may put something else in its place

from faultinject.probes._processes import descendants

SHARED_PROBES = frozenset({"shared memory", "semaphores"})


def path_of(probe: str, key: str) -> str:
    """The path in ``/dev/shm`` of an item of one of the shared probes."""
    name = key.rpartition(":")[0] or key
    return f"/dev/shm/{name}"


def is_ours(path: str) -> bool:
    """Whether this process or a descendant has `path` open or mapped right now.

    Asked as soon as a new name is seen: whoever makes a block holds it at first. A name that nobody in
    the tree holds is somebody else's, and is not charged to the target.
    """
    pid = os.getpid()
    if _holds(pid, path):
        return True
    return any(_holds(child, path) for child, _ in descendants())


def _holds(pid: int, path: str) -> bool:
    directory = f"/proc/{pid}/fd"
    try:
        for number in listdir(directory):
            try:
                if os.readlink(f"{directory}/{number}").startswith(path):
                    return True
            except OSError:
                continue
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
            return any(path in line for line in maps)
    except OSError:
        return False
