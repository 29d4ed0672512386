"""Processes as ``/proc`` shows them: who is who, who has ended, who is whose child."""

from __future__ import annotations

import os

Identity = tuple[int, int]
"""Pid and start time in clock ticks since boot: the kernel gives a pid away again, but not both."""

_GONE = (FileNotFoundError, ProcessLookupError, NotADirectoryError)


class Facts:
    """A line of ``/proc/PID/stat``, as far as it is used here (see ``proc(5)``)."""

    __slots__ = ("parent", "start", "state", "threads")

    def __init__(self, text: bytes) -> None:
        # The command stands in parentheses and may itself hold spaces and parentheses.
        fields = text[text.rindex(b")") + 2 :].split()
        self.state = fields[0].decode()
        self.parent = int(fields[1])
        self.threads = int(fields[17])
        self.start = int(fields[19])

    @property
    def ended(self) -> bool:
        """Whether nothing of it runs any more: a zombie that nobody has reaped has ended.

        A process whose first thread has left while others run is shown as a zombie too, but counts them.
        """
        return self.state in "XZx" and self.threads <= 1


def read(path: str) -> bytes:
    """A file of ``/proc``, whole.

    Raises:
        OSError: as `os.open` and `os.read` do.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(descriptor, 65536):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def facts(pid: int) -> Facts | None:
    """What the kernel says of a process, or ``None`` if there is none of that pid.

    Raises:
        OSError: it cannot be asked, as when no descriptor is left; this says nothing of the process.
    """
    try:
        return Facts(read(f"/proc/{pid}/stat"))
    except _GONE:
        return None


def identity(pid: int) -> Identity | None:
    """Who has that pid now, a zombie too; ``None`` if nobody has."""
    found = facts(pid)
    return None if found is None else (pid, found.start)


def has_ended(who: Identity) -> bool:
    """Whether that very process has ended: gone, a zombie, or its pid somebody else's."""
    found = facts(who[0])
    return found is None or found.start != who[1] or found.ended


def open_pidfd(who: Identity) -> int | None:
    """A descriptor that becomes readable when that very process has ended, a zombie included.

    Returns:
        The descriptor, or ``None`` where the kernel, or a filter of system calls, has none to give.

    Raises:
        ProcessLookupError: it has gone, or its pid is somebody else's now.
    """
    try:
        descriptor = os.pidfd_open(who[0])
    except ProcessLookupError:
        raise
    except (AttributeError, OSError):
        return None
    try:
        found = facts(who[0])
    except OSError:
        found = None
    # Looked at after the descriptor was had: it cannot have become another's in between.
    if found is None or found.start != who[1]:
        os.close(descriptor)
        raise ProcessLookupError(f"no process {who[0]} that started at {who[1]}")
    return descriptor


def processes() -> list[int]:
    """Every pid there is."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def children(pid: int) -> list[int]:
    """The living and dead children of a process; of all its threads."""
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        try:
            found.extend(map(int, read(f"/proc/{pid}/task/{thread}/children").split()))
        except OSError:
            # The thread has just left; or the kernel was built without this file.
            if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
                return _children_by_parent(pid)
    return found


def _children_by_parent(pid: int) -> list[int]:
    found = []
    for other in processes():
        try:
            seen = facts(other)
        except OSError:
            continue
        if seen is not None and seen.parent == pid:
            found.append(other)
    return found


def ends_by_itself(pid: int) -> bool:
    """Whether it is multiprocessing's resource tracker or a guardian: both end with those that they serve.

    Before they do they remove what is left, so they are never killed with them.
    """
    try:
        command = read(f"/proc/{pid}/cmdline")
    except OSError:
        return False
    return b"multiprocessing.resource_tracker import main" in command or b"/lifeline/_guard\0" in command


def namespace() -> str:
    """Which pids this process speaks of: they mean something else in another pid namespace."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
