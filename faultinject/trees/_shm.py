"""A ``/dev/shm`` of a tree's own, where the system lets us have one."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil

PLACE = "/dev/shm"

_CLONE_NEWNS = 0x00020000
_MS_REMOUNT = 32
_MS_REC = 16384
_MS_PRIVATE = 1 << 18


def make_private() -> bool:
    """Give this process and all that it starts an empty ``/dev/shm``, seen by nobody else; whether it has.

    Needs CAP_SYS_ADMIN, as root has outside of most containers. What is left there is then exactly the
    tree's, and it can be made as small as a fault asks for. To be called before any thread is started: a
    mount namespace is a thread's, see ``unshare(2)``.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(
        libc.unshare(_CLONE_NEWNS) == 0
        and libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None) == 0
        and libc.mount(b"faultinject", PLACE.encode(), b"tmpfs", 0, b"mode=1777") == 0
    )


def leave_no_room() -> bool:
    """Make the private ``/dev/shm`` as small as what is in it; whether it was possible.

    As on a machine whose ``/dev/shm`` is full: names can be made and sized, ``posix_fallocate`` raises
    ENOSPC, and who writes to a new page without it gets SIGBUS (``tmpfs(5)``).
    """
    room = os.statvfs(PLACE)
    used = (room.f_blocks - room.f_bfree) * room.f_frsize
    return _resize(str(max(used, room.f_frsize)))


def empty() -> None:
    """Make the private ``/dev/shm`` as it was at first."""
    for name in os.listdir(PLACE):
        path = os.path.join(PLACE, name)
        with contextlib.suppress(OSError):
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    _resize("50%")


def _resize(size: str) -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"mode=1777,size={size}".encode()
    return bool(libc.mount(b"faultinject", PLACE.encode(), b"tmpfs", _MS_REMOUNT, options) == 0)


def sizes() -> dict[str, int]:
    """Names in ``/dev/shm`` and their sizes in bytes."""
    found: dict[str, int] = {}
    with contextlib.suppress(OSError):
        for entry in os.scandir(PLACE):
            with contextlib.suppress(OSError):
                found[entry.name] = entry.stat(follow_symlinks=False).st_size
    return found
