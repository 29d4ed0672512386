"""Whether a directory that the environment names is a plan for this very process."""

from __future__ import annotations

import json
import os
import stat
from typing import Any

PLAN = "plan.json"
SOCKET = "socket"


def read_plan(directory: str) -> dict[str, Any] | None:
    """The plan in `directory`, if it is meant for this process; `None` otherwise.

    It must be a directory of this user that nobody else can open, and name a conductor that is alive, is the
    process it says (a pid comes back, with its start time it does not), and is an ancestor of this one. A
    plan that was left in the environment of an unrelated process is thus nothing.
    """
    try:
        found = os.lstat(directory)
        if not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o077 or found.st_uid != os.geteuid():
            return None
        descriptor = os.open(os.path.join(directory, PLAN), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        with open(descriptor, "rb") as file:
            if os.fstat(descriptor).st_uid != os.geteuid():
                return None
            plan = json.loads(file.read())
        conductor, started = plan["conductor"], plan["started"]
        if not isinstance(conductor, int) or start_of(conductor) != started or not descends(conductor):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return plan if isinstance(plan, dict) else None


def descends(ancestor: int) -> bool:
    """Whether `ancestor` is this process's parent, or a parent of its parents."""
    pid = os.getppid()
    for _ in range(1000):
        if pid == ancestor:
            return True
        if pid <= 1:
            return False
        pid = int(_fields(pid)[1])
    return False


def start_of(pid: int) -> int:
    """Clock ticks from boot to the start of a process; -1 where there is none."""
    try:
        return int(_fields(pid)[19])
    except OSError:
        return -1


def _fields(pid: int) -> list[str]:
    """The fields of ``/proc/PID/stat`` from the state on; the command before it may hold anything."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()
