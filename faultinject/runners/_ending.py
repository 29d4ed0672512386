"""Ending a process of the target's, and everything beneath it, so that nothing of it stays."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Set

_GRACE = 0.1
"""Seconds that what a case left running has to end by itself once the case has ended."""


def shared_names() -> set[str]:
    """Names that are in ``/dev/shm`` now."""
    with contextlib.suppress(OSError):
        return set(os.listdir("/dev/shm"))
    return set()


def end_at_once(pid: int, names: Set[str]) -> None:
    """End a process that leads a session, and all that descends from it, in whatever state they are.

    A process that is killed cannot give back its names in ``/dev/shm``. Those that it, or one beneath it, has
    mapped or open are removed for it. The resource trackers of multiprocessing are left alive: they
    remove the other names as their last act; `end_orphans` waits for that.

    Args:
        names: what was there before the process began, and is not its own.
    """
    import psutil

    family = [pid]
    with contextlib.suppress(psutil.Error):
        family += [child.pid for child in psutil.Process(pid).children(recursive=True)]
    held = _held_names(family) - names
    for one in family:
        if one == pid or not _is_tracker(one):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, signal.SIGKILL)
    for name in held:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join("/dev/shm", name))


def end_orphans(session: int = 0) -> list[tuple[int, str]]:
    """End what a case left running, and reap it; what it was.

    Args:
        session: the case's own process and session, 0 for none.
    """
    found: list[tuple[int, str]] = []
    # A helper that lives as long as a pipe to the case ends by itself, and removes names as its last act;
    # multiprocessing's resource tracker takes longer over it.
    since = time.monotonic()
    while children := _children():
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        tracker = any("resource_tracker" in _command(pid) for pid in children)
        if time.monotonic() - since > (1.0 if tracker else _GRACE):
            break
        time.sleep(0.002)
    until = time.monotonic() + 5.0
    while time.monotonic() < until:
        children = _children()
        if not children:
            break
        for pid in children:
            if _state(pid) != "Z":
                found.append((pid, _command(pid)))
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
    if session:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(session, signal.SIGKILL)
    return found


def _children() -> list[int]:
    """Processes whose parent is this one."""
    path = f"/proc/self/task/{os.getpid()}/children"
    try:
        with open(path) as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        import psutil

        return [child.pid for child in psutil.Process().children()]


def _held_names(family: list[int]) -> set[str]:
    """Names in ``/dev/shm`` that these processes have mapped or open."""
    paths: set[str] = set()
    for one in family:
        with contextlib.suppress(OSError), open(f"/proc/{one}/maps") as maps:
            paths.update(line.split(maxsplit=5)[-1].strip() for line in maps)
        with contextlib.suppress(OSError):
            for number in os.listdir(f"/proc/{one}/fd"):
                with contextlib.suppress(OSError):
                    paths.add(os.readlink(f"/proc/{one}/fd/{number}"))
    return {path.removeprefix("/dev/shm/") for path in paths if path.startswith("/dev/shm/")}


def _is_tracker(pid: int) -> bool:
    return "resource_tracker" in _command(pid) and _state(pid) != "Z"


def _state(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read(2000).replace("\0", " ").strip()[:200]
    except OSError:
        return ""
