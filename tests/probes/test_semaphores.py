from __future__ import annotations

import multiprocessing
import os

from faultinject.probes._semaphores import Semaphores
from faultinject.probes._shared_memory import SharedMemory


def _of(probe, name):
    return [item for key, item in probe.snapshot().items() if key.startswith(name + ":")]


def test_a_named_semaphore_is_seen_until_it_is_unlinked(in_fork):
    probe = Semaphores()
    lock = multiprocessing.get_context("spawn").Lock()
    name = lock._semlock.name.lstrip("/")
    (item,) = _of(probe, name)
    assert item.label == f"semaphore /{name}"
    assert item.group == "mp-*"
    assert not _of(SharedMemory(), f"sem.{name}")
    assert in_fork(lambda: len(_of(probe, name))) == 1
    del lock
    assert not _of(probe, name)


def test_a_fork_takes_the_name_from_everybody(in_fork):
    probe = Semaphores()
    lock = multiprocessing.get_context("spawn").Lock()
    name = lock._semlock.name.lstrip("/")
    in_fork(lambda: os.unlink(f"/dev/shm/sem.{name}"))
    assert not _of(probe, name)
    os.close(os.open(f"/dev/shm/sem.{name}", os.O_CREAT))
    del lock
