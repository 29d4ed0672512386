"""Sending a signal to a process, and knowing that it has been done."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import struct
import time

_PATIENCE = 5.0
"""Seconds in which a signal is delivered, unless the process blocks it or is stuck in the kernel."""
_LOOK = 0.001

HAD_ENDED = "it had ended"

# linux/pidfd.h: PIDFD_GET_INFO, and the exit status in what it gives, since Linux 6.15.
_PIDFD_GET_INFO = 0xC040FF0B
_PIDFD_INFO_EXIT = 1 << 3
_PIDFD_INFO = struct.Struct("=QQ11Ii")
"""struct pidfd_info: mask, cgroup id, eleven numbers, the status."""


def send_signal(pid: int, handle: int, number: signal.Signals) -> str:
    """Send a signal through a pidfd and wait until it has been done; ``""``, or why it was not.

    SIGKILL is done when the process is dead, SIGSTOP when it is stopped, any other when it is pending no
    more (see ``proc(5)``): its handler has been entered, or the process is dead.
    """
    try:
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return HAD_ENDED
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        if is_over(handle, 0.0 if number is not signal.SIGKILL else _PATIENCE):
            return ""
        if number is signal.SIGSTOP:
            if state_of(pid) in "TZX":
                return ""
        elif number is not signal.SIGKILL and not _pending(pid, number):
            return ""
        time.sleep(_LOOK)
    return f"{number.name} was sent, and not delivered within {_PATIENCE:g} s (state {state_of(pid)})"


def is_over(handle: int, seconds: float = 0.0) -> bool:
    """Whether the process of a pidfd is dead, or is so within a time."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def state_of(pid: int) -> str:
    """The letter of ``/proc/PID/stat``; ``X`` for a process that is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0].decode()
    except OSError:
        return "X"


def _pending(pid: int, number: int) -> bool:
    try:
        with open(f"/proc/{pid}/status") as file:
            masks = [int(line.split()[1], 16) for line in file if line.startswith(("SigPnd", "ShdPnd"))]
    except (OSError, ValueError):
        return False
    return any(mask >> (number - 1) & 1 for mask in masks)


def status_of_dead(handle: int) -> int | None:
    """The exit status of a process that somebody else has reaped, where the kernel (6.15) keeps it."""
    asked = _PIDFD_INFO.pack(_PIDFD_INFO_EXIT, *([0] * 13))
    with contextlib.suppress(OSError):
        mask, *_, status = _PIDFD_INFO.unpack(fcntl.ioctl(handle, _PIDFD_GET_INFO, asked))
        if mask & _PIDFD_INFO_EXIT:
            return os.waitstatus_to_exitcode(status)
    return None


def open_handle(pid: int) -> int | None:
    """A pidfd, or `None` for a process that is gone."""
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno in (errno.ESRCH, errno.EINVAL):
            return None
        raise
