from __future__ import annotations

import pytest

from faultinject.probes._groups import link_group, name_group, path_group


@pytest.mark.parametrize(
    ("link", "group"),
    [
        ("/tmp/tmpab12", "/tmp/tmp*"),
        ("/tmp/tmpab12cdef/part-3", "/tmp/tmp*/part-#"),
        ("/tmp/weights-abcdefgh.bin", "/tmp/weights-*.bin"),
        ("/tmp/0e8fa7a8-5b7d-4c9b-8f0e-5d1c2b3a4f5e", "/tmp/*"),
        ("/srv/tmpqwertyui", "/srv/tmp*"),
        ("/srv/settings", "/srv/settings"),
        ("socket:[123]", "socket"),
        ("pipe:[123]", "pipe"),
        ("anon_inode:[eventpoll]", "eventpoll"),
        ("anon_inode:inotify", "inotify"),
        ("/memfd:buffer-7 (deleted)", "memfd:buffer-#"),
        ("/dev/shm/psm_0a1b2c3d", "/dev/shm/psm_*"),
        ("/tmp/tmpab12cdef (deleted)", "/tmp/tmp* (deleted)"),
    ],
)
def test_what_was_drawn_is_left_out_of_a_group(link, group):
    assert link_group(link) == group


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("Thread-3 (run)", "Thread-# (run)"),
        ("ThreadPoolExecutor-0_11", "ThreadPoolExecutor-#_#"),
        ("MainThread", "MainThread"),
        ("VLLM::Worker_TP0", "VLLM::Worker_TP#"),
    ],
)
def test_a_name_loses_its_numbers(name, group):
    assert name_group(name) == group


def test_the_temporary_directory_may_be_another():
    assert path_group("/scratch/run/abcdefgh", "/scratch/run") == "/scratch/run/*"
