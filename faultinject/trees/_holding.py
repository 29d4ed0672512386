"""What a process holds, seen from outside."""

from __future__ import annotations

import contextlib
import os

from faultinject._amounts import human_bytes
from faultinject.trees._shm import PLACE

_LISTEN = "0A"


def shared_names_of(pid: int) -> set[str]:
    """Names in ``/dev/shm`` that a process has mapped or open."""
    paths = _open_files(pid)
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps") as maps:
        paths |= {line.split(maxsplit=5)[-1].strip() for line in maps if PLACE in line}
    return {p.removeprefix(f"{PLACE}/") for p in paths if p.startswith(f"{PLACE}/") and "(deleted)" not in p}


def ports_of(pid: int) -> list[str]:
    """``ADDRESS:PORT`` at which a process listens."""
    inodes = {p[8:-1] for p in _open_files(pid) if p.startswith("socket:[")}
    found = []
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/net/{table}") as file:
            for line in list(file)[1:]:
                fields = line.split()
                if fields[3] == _LISTEN and fields[9] in inodes:
                    found.append(f"{table} port {int(fields[1].rpartition(':')[2], 16)}")
    return sorted(set(found))


def devices_of(pid: int) -> list[str]:
    """Device files of accelerators that a process has open."""
    usual = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/console")
    return sorted(
        p
        for p in _open_files(pid)
        if p.startswith("/dev/") and not p.startswith((*usual, "/dev/shm/", "/dev/pts/"))
    )


def holdings(pid: int, sizes: dict[str, int]) -> tuple[str, ...]:
    """All of it, for a reader."""
    names = sorted(shared_names_of(pid))
    return (
        *(f"{PLACE}/{name} ({human_bytes(sizes[name])})" for name in names if name in sizes),
        *ports_of(pid),
        *devices_of(pid),
    )


def _open_files(pid: int) -> set[str]:
    found: set[str] = set()
    with contextlib.suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"/proc/{pid}/fd/{number}"))
    return found


def files_beneath(directory: str) -> list[str]:
    """Paths beneath a directory, relative to it, sockets marked; of directories only those that are empty."""
    found = []
    for folder, folders, files in os.walk(directory):
        for name in sorted(files):
            path = os.path.join(folder, name)
            is_socket = False
            with contextlib.suppress(OSError):
                is_socket = os.lstat(path).st_mode & 0o170000 == 0o140000
            found.append(os.path.relpath(path, directory) + (" (socket)" if is_socket else ""))
        if not files and not folders and folder != directory:
            found.append(os.path.relpath(folder, directory) + "/")
    return sorted(found)


def command_of(pid: int) -> str:
    """The command line of a process, as it stands now: some programs write a title over it."""
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read(4000).replace("\0", " ").strip()[:300]
    except OSError:
        return ""


def start_seconds(start: str) -> float:
    """Seconds of the clock of `time.monotonic` at which a process was started, of its ticks since boot."""
    # CLOCK_BOOTTIME, of which the kernel counts, goes on while the machine sleeps.
    import time

    asleep = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
    return int(start) / os.sysconf("SC_CLK_TCK") - asleep
