"""Importing beforehand what a construction imports on its way."""

from __future__ import annotations

import contextlib
import importlib
import os
import select
import signal
import socket
import sys
import tempfile
import time

from faultinject.runners._construct import Constructor
from faultinject.runners._ending import end_at_once, end_orphans, shared_names
from faultinject.targets import Target


def import_what_it_imports(target: Target, directory: str, limit: float, control: socket.socket) -> None:
    """Import here what one construction, made and given back in a copy of this process, has imported.

    Otherwise each case would import it anew, and the import system's fault points would hide the target's
    own. A target that fails or hangs in the copy is not this function's to judge: the recording says so.

    Args:
        directory: where the copy may make its temporary files.
        limit: seconds that the construction may take.
        control: closes at its other end when nobody needs this any more.
    """
    names_before = shared_names()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            _construct_once(target, directory, writing)
        finally:
            os._exit(0)
    os.close(writing)
    names = _read(reading, pid, limit, control)
    end_at_once(pid, names_before)
    os.waitpid(pid, 0)
    end_orphans(pid)
    for name in names:
        with contextlib.suppress(BaseException):
            importlib.import_module(name)


def _construct_once(target: Target, directory: str, writing: int) -> None:
    """In the copy: construct, give back, and write the names of the modules that this brought."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.environ["TMPDIR"] = directory
    tempfile.tempdir = None
    before = set(sys.modules)
    constructor = Constructor(target)
    call = constructor.prepare()
    result, failure = constructor.construct(call)
    if failure is None:
        constructor.release(result, call[0])
    added = [name for name in sys.modules if name not in before and not name.startswith("faultinject.")]
    with open(writing, "w") as pipe:
        pipe.write("\n".join(added))


def _read(reading: int, pid: int, limit: float, control: socket.socket) -> list[str]:
    """The lines that the copy writes; none if it ends or hangs before."""
    handle = os.pidfd_open(pid)
    data = b""
    until = time.monotonic() + limit
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    poll.register(handle, select.POLLIN)
    poll.register(control, select.POLLHUP | select.POLLRDHUP)
    try:
        while (remaining := until - time.monotonic()) > 0:
            ready = dict(poll.poll(remaining * 1000))
            if control.fileno() in ready:
                break
            if reading in ready:
                part = os.read(reading, 1 << 16)
                if not part:
                    break
                data += part
            elif handle in ready:
                break
    finally:
        os.close(handle)
        os.close(reading)
    return data.decode(errors="replace").splitlines()
