from __future__ import annotations

import mmap

from faultinject.probes._mmaps import MemoryMappings


def test_a_mapped_file_is_seen_with_its_bytes_until_it_is_unmapped(tmp_path, new):
    probe = MemoryMappings()
    before = probe.snapshot()
    with open(tmp_path / "weights", "wb+") as file:
        file.truncate(10_000)
        with mmap.mmap(file.fileno(), 10_000):
            (item,) = new(probe, before).values()
            assert item.label == f"mapping of {tmp_path / 'weights'}"
            assert (item.amount % mmap.PAGESIZE, item.unit) == (0, "bytes")
            assert item.amount >= 10_000
    assert not new(probe, before)


def test_anonymous_shared_memory_is_seen_and_private_memory_is_not(new):
    probe = MemoryMappings()
    before = probe.snapshot()
    with mmap.mmap(-1, 8192):
        (item,) = new(probe, before).values()
        assert (item.group, item.amount) == ("anonymous shared memory", 8192)
    with mmap.mmap(-1, 1 << 24, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS):
        assert not new(probe, before)


def test_libraries_are_left_out():
    assert not [item.label for item in MemoryMappings().snapshot().values() if ".so" in item.label]


def test_a_fork_sees_the_same_and_unmapping_there_unmaps_nothing_here(new, in_fork):
    probe = MemoryMappings()
    before = probe.snapshot()
    with mmap.mmap(-1, 8192) as block:
        mine = new(probe, before)

        def there():
            seen = list(new(probe, before))
            block.close()
            return [seen, list(new(probe, before))]

        assert in_fork(there) == [list(mine), []]
        assert new(probe, before) == mine
