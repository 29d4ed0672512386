"""Temporary files and directories."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Mapping

from faultinject.facts import Item
from faultinject.probes._groups import path_group, printable
from faultinject.probes._proc import machinery
from faultinject.probes._protocol import Cost, Nature
from faultinject.probes._temporary_directory import temporary_directory

# File times come from a clock that ticks every 1 to 10 ms. A directory whose time lies further back than
# this when it is listed cannot be changed later without its time changing too.
_SETTLED_NS = 50_000_000


class TemporaryFiles:
    """This user's entries of the temporary directory itself, not of those below.

    The directory is the one in force at the first snapshot. It is listed again only when its change time
    moved. Entries have no maker: give a process a ``TMPDIR`` of its own where others work at the same time.

    Left out: the directory that multiprocessing makes once a process and removes at exit.
    """

    name: str = "temporary files"
    nature: Nature = "resource"
    cost: Cost = "cheap"
    fork_visible: bool = True
    private: bool = False

    def __init__(self) -> None:
        self._directory = ""
        self._listed: tuple[tuple[int, ...], str] | None = None
        self._last: dict[str, Item] = {}
        self._known: dict[str, Item | None] = {}

    def unavailable(self) -> str | None:
        directory = temporary_directory()
        return None if os.access(directory, os.R_OK | os.X_OK) else f"{directory} cannot be listed"

    def forget_directory(self) -> None:
        """Look where temporary files go now, from the next look on: this process has got its own place."""
        self._directory = ""
        self._listed = None
        self._known = {}

    def snapshot(self) -> Mapping[str, Item]:
        if not self._directory:
            self._directory = temporary_directory()
        own = machinery().directory
        try:
            status = os.stat(self._directory)
        except FileNotFoundError:
            self._listed, self._last = None, {}
            return {}
        moved = max(status.st_mtime_ns, status.st_ctime_ns)
        version = (status.st_dev, status.st_ino, moved, status.st_size, status.st_nlink), own
        if self._listed == version:
            return self._last
        settled = time.time_ns() - moved > _SETTLED_NS
        self._last = self._list(own)
        self._listed = version if settled else None
        return self._last

    def _list(self, own: str) -> dict[str, Item]:
        user = os.geteuid()
        known: dict[str, Item | None] = {}
        found: dict[str, Item] = {}
        with os.scandir(self._directory) as entries:
            for entry in entries:
                key = f"{printable(entry.name)}:{entry.inode()}"
                if key in self._known:
                    item = self._known[key]
                else:
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    item = self._item(printable(entry.path), status) if status.st_uid == user else None
                known[key] = item
                if item is not None and entry.path != own:
                    found[key] = item
        self._known = known
        return found

    def _item(self, path: str, status: os.stat_result) -> Item:
        directory = stat.S_ISDIR(status.st_mode)
        group = path_group(path, self._directory)
        return Item(label=path + "/" if directory else path, group=group + "/" if directory else group)
