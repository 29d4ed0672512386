"""Memory mappings that stand for something: files, shared blocks, memory shared with children."""

from __future__ import annotations

from collections.abc import Mapping

from faultinject.facts import Item
from faultinject.probes._groups import DELETED, link_group
from faultinject.probes._proc import needs_proc, read
from faultinject.probes._protocol import Cost, Nature
from faultinject.probes._temporary_directory import temporary_directory

# Mapped by the C library or a driver for itself, once a process.
_SYSTEM = (b"/usr/lib", b"/usr/share", b"/lib", b"/etc/", b"/dev/nvidia", b"/dev/dri", b"/dev/kfd")


class MemoryMappings:
    """Mapped files by device, inode and name, with their bytes; libraries and anonymous memory left out.

    A file with an executable mapping is a library. Pieces of one file are added up, because the kernel splits
    and joins mappings on its own; so a second mapping of a file shows as a larger amount. Anonymous *shared*
    memory has a name (``/dev/zero``) and an inode, and is seen.
    """

    name: str = "mmaps"
    nature: Nature = "resource"
    cost: Cost = "costly"
    fork_visible: bool = True
    private: bool = True

    def __init__(self) -> None:
        self._libraries: set[bytes] = set()

    def unavailable(self) -> str | None:
        return needs_proc()

    def snapshot(self) -> Mapping[str, Item]:
        sizes: dict[tuple[bytes, bytes, bytes], int] = {}
        libraries = self._libraries
        for line in read("/proc/self/maps", 1 << 20).splitlines():
            at = line.find(b"/")
            if at < 0 or line[at:] in libraries:
                continue
            span, mode, _offset, device, inode, path = line.split(None, 5)
            if b"x" in mode or path.startswith(_SYSTEM) or not path.startswith(b"/"):
                libraries.add(path)
                continue
            identity = (device, inode, path)
            start, _, end = span.partition(b"-")
            sizes[identity] = sizes.get(identity, 0) + int(end, 16) - int(start, 16)
        temporary = temporary_directory()
        found: dict[str, Item] = {}
        for (device, inode, raw), size in sizes.items():
            # The first piece of a library comes before the one that tells that it is one.
            if raw in libraries:
                continue
            path_text = raw.decode(errors="backslashreplace")
            plain = path_text.removesuffix(DELETED)
            group = "anonymous shared memory" if plain == "/dev/zero" else link_group(plain, temporary)
            key = f"{device.decode()}:{inode.decode()}:{plain}"
            found[key] = Item(label=f"mapping of {path_text}", amount=size, unit="bytes", group=group)
        return found
