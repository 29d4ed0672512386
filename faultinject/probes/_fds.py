"""Open file descriptors and what they point to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import listdir  # its own reference: a target may put something else in its place
from stat import S_IFMT

from faultinject.facts import Item
from faultinject.probes._groups import DELETED, link_group, printable
from faultinject.probes._proc import machinery, needs_proc
from faultinject.probes._protocol import Cost, Nature
from faultinject.probes._temporary_directory import temporary_directory

_Signature = tuple[int, int, int, int]


class FileDescriptors:
    """Every descriptor of the process, sockets and pipes included.

    The key is the number and what it points to, so a number that was closed and opened on another
    thing is another key. Two things it cannot tell apart: a number closed and opened again on the same
    path, and one moved from an eventfd (epoll, timerfd) to another of that kind.

    A link is read again only when ``fstat`` tells of another file: that halves the cost. Inode numbers of
    files are reused at once by some file systems, hence the change time in the comparison; anonymous
    inodes are one inode for all, hence read each time.

    Left out: the directory descriptor of the listing itself, and the pipes that multiprocessing keeps to
    its resource tracker and fork server.
    """

    name: str = "fds"
    nature: Nature = "resource"
    cost: Cost = "cheap"
    fork_visible: bool = True
    private: bool = True

    def __init__(self) -> None:
        self._known: dict[str, tuple[_Signature, str, Item]] = {}
        self._temporary = ""

    def unavailable(self) -> str | None:
        return needs_proc()

    def forget_directory(self) -> None:
        """See `TemporaryFiles.forget_directory`."""
        self._temporary = ""

    def snapshot(self) -> Mapping[str, Item]:
        known, fresh = self._known, {}
        found: dict[str, Item] = {}
        own = machinery().descriptors
        fstat = os.fstat
        for number in listdir("/proc/self/fd"):
            descriptor = int(number)
            try:
                status = fstat(descriptor)
                signature = (status.st_mode, status.st_dev, status.st_ino, status.st_ctime_ns)
                entry = known.get(number)
                if entry is None or entry[0] != signature or not S_IFMT(status.st_mode):
                    link = printable(os.readlink("/proc/self/fd/" + number))
                    if entry is None or entry[1] != link:
                        entry = (signature, link, self._item(number, link))
                    else:
                        entry = (signature, link, entry[2])
            except OSError:
                continue  # The listing's own descriptor, or one that another thread has just closed.
            fresh[number] = entry
            if descriptor not in own:
                # Unlinking a file that is open elsewhere must not look like closing one and opening another.
                found[f"{number}:{entry[1].removesuffix(DELETED)}"] = entry[2]
        self._known = fresh
        return found

    def _item(self, number: str, link: str) -> Item:
        if not self._temporary:
            self._temporary = temporary_directory()
        return Item(
            label=f"fd {number} -> {link}", group=link_group(link, self._temporary).removesuffix(DELETED)
        )
