from __future__ import annotations

import os
from multiprocessing import shared_memory

from faultinject.probes._shared_memory import SharedMemory


def _of(probe, block):
    return {k: i for k, i in probe.snapshot().items() if k.startswith(block.name.lstrip("/") + ":")}


def test_a_block_is_seen_with_its_size_until_it_is_unlinked():
    probe = SharedMemory()
    block = shared_memory.SharedMemory(create=True, size=123_456)
    ((key, item),) = _of(probe, block).items()
    assert key == f"{block.name}:{os.stat('/dev/shm/' + block.name).st_ino}"
    assert (item.label, item.amount, item.unit) == (f"/dev/shm/{block.name}", 123_456, "bytes")
    assert item.group == "psm_*"
    block.close()
    assert _of(probe, block)
    block.unlink()
    assert not _of(probe, block)


def test_a_name_that_was_made_again_is_another_key():
    probe = SharedMemory()
    block = shared_memory.SharedMemory(create=True, size=1)
    first = _of(probe, block)
    block.unlink()
    again = shared_memory.SharedMemory(block.name, create=True, size=1)
    second = _of(probe, block)
    block.close()
    again.close()
    again.unlink()
    assert len(first) == len(second) == 1
    assert first.keys() != second.keys()


def test_a_fork_sees_the_block_and_takes_it_from_everybody(in_fork):
    probe = SharedMemory()
    block = shared_memory.SharedMemory(create=True, size=1)
    mine = _of(probe, block)

    def there():
        seen = list(_of(probe, block))
        os.unlink("/dev/shm/" + block.name)
        return seen

    assert in_fork(there) == list(mine)
    assert not _of(probe, block)
    again = os.open("/dev/shm/" + block.name, os.O_CREAT | os.O_RDWR)
    os.close(again)
    block.close()
    block.unlink()
