"""Sockets that have an address: what others can connect to, or what keeps a port or a name taken."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from os import listdir  # its own reference: a target may put something else in its place

from faultinject.facts import Item
from faultinject.probes._groups import name_group, path_group, printable
from faultinject.probes._proc import needs_proc
from faultinject.probes._protocol import Cost, Nature
from faultinject.probes._temporary_directory import temporary_directory


class Sockets:
    """Bound and listening sockets, by inode, with their address.

    Each is a descriptor too, and the probe ``fds`` shows it as one; this probe adds the port or name that
    a second construction would find taken. A socket that is merely connected has nothing more to
    tell and is left to ``fds``. The key is the inode, so two descriptors of one socket are one item.

    Each socket is asked through a duplicate of its descriptor that is closed at once; ``/proc/net`` would
    cost a walk over every socket of the machine, and does not show TCP sockets that are bound only.
    """

    name: str = "sockets"
    nature: Nature = "resource"
    cost: Cost = "costly"
    fork_visible: bool = True
    private: bool = True

    def unavailable(self) -> str | None:
        return needs_proc()

    def snapshot(self) -> Mapping[str, Item]:
        found: dict[str, Item] = {}
        temporary = temporary_directory()
        for number in listdir("/proc/self/fd"):
            try:
                link = os.readlink("/proc/self/fd/" + number)
                if not link.startswith("socket:") or link in found:
                    continue
                item = _ask(int(number), temporary)
            except OSError:
                continue  # Closed meanwhile, or a family without addresses.
            if item is not None:
                found[link] = item
        return found


def _ask(number: int, temporary: str) -> Item | None:
    copy = os.dup(number)
    try:
        handle = socket.socket(fileno=copy)
    except BaseException:
        os.close(copy)
        raise
    with handle:
        family = handle.family
        address = handle.getsockname()
        listening = bool(handle.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
        if not address or (not listening and _connected(handle)):
            return None
        kind = {socket.SOCK_STREAM: "stream", socket.SOCK_DGRAM: "datagram"}.get(handle.type, "raw")
    doing = "listening" if listening else "bound"
    if family in (socket.AF_INET, socket.AF_INET6):
        host, port = address[0], address[1]
        if not port:
            return None
        protocol = "tcp" if kind == "stream" else "udp"
        shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        return Item(label=f"{protocol} {doing} on {shown}", group=f"{protocol} {doing} on {host}:#")
    if family == socket.AF_UNIX:
        name = printable(os.fsdecode(address))
        if name.startswith("\0"):
            name = "@" + name[1:]
            return Item(label=f"unix {doing} on {name}", group=f"unix {doing} on {name_group(name)}")
        return Item(label=f"unix {doing} on {name}", group=f"unix {doing} on {path_group(name, temporary)}")
    if family == socket.AF_NETLINK:
        return None
    return Item(label=f"{kind} {doing} on {address!r}", group=f"{kind} {doing}")


def _connected(handle: socket.socket) -> bool:
    try:
        handle.getpeername()
    except OSError:
        return False
    return True
