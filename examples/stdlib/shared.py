"""Targets that make or attach shared memory, and the outside world they need.

A segment "of somebody else" is made by another process, which keeps it until this process is gone and
then removes it; so a sweep of a thousand cases leaves nothing in ``/dev/shm``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from multiprocessing.shared_memory import SharedMemory

_SIZE = 4096

_OWNER = """
import os, sys, _posixshmem
name = f"/owner_{os.getpid()}"
descriptor = _posixshmem.shm_open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode=0o600)
os.ftruncate(descriptor, int(sys.argv[1]))
os.write(1, name[1:].encode() + b"\\n")
asked = sys.stdin.readline()  # a request, or end of file when the last holder of the pipe is gone
try:
    _posixshmem.shm_unlink(name)
except FileNotFoundError:
    pass  # a failed attach of this very library has removed it: row M14
if asked:
    os.write(1, b"removed\\n")
    sys.stdin.read()  # stay until this process is no longer needed, so as not to end as a zombie
"""


class Owner:
    """Another process that owns a segment and removes it when asked, or when this process is gone.

    Attributes:
        name: of its segment, as `SharedMemory` takes it.
    """

    def __init__(self, size: int = _SIZE) -> None:
        # A session of its own: neither the children nor the group of the process that is swept.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _OWNER, str(size)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.name = self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def hello(self) -> None:
        """Greet the owner, which answers by ending its segment: its decision, and its right."""
        assert self._process.stdin is not None
        self._process.stdin.write("hello\n")
        self._process.stdin.flush()
        self._line()


_owners: list[Owner] = []


def owner() -> Owner:
    """A new owner, kept until this process ends."""
    _owners.append(Owner())
    return _owners[-1]


def somebody_elses_segment() -> str:
    """Name of a segment that another process made and still uses (rows M14, M15)."""
    return owner().name


def give_back(block: SharedMemory) -> None:
    """Close and remove a block of our own."""
    block.close()
    block.unlink()


def fill(block: SharedMemory) -> None:
    """The step of `tracked_block` that can fail once the block is there."""
    assert block.buf is not None
    block.buf[:4] = b"fill"


def tracked_block() -> SharedMemory:
    """Make a block and fill it, and remove it if that fails.

    The first block of a process starts multiprocessing's resource tracker: a process and a
    descriptor that outlive the failure by design, and must not be held against anybody.
    """
    block = SharedMemory(create=True, size=_SIZE)
    try:
        fill(block)
    except BaseException:
        give_back(block)
        raise
    return block


class Visitor:
    """Holds one descriptor of its own and greets an owner, who then removes the owner's segment.

    The segment vanishes while the target runs and was never the target's: an outside agent removed
    it, and no fault in here may be charged with it.
    """

    def __init__(self, host: Owner) -> None:
        self._descriptor = os.open(os.devnull, os.O_RDONLY)
        try:
            host.hello()
            self.greet()
        except BaseException:
            self.close()
            raise

    def greet(self) -> None:
        """The step that can fail after the outside agent acted."""

    def close(self) -> None:
        os.close(self._descriptor)
