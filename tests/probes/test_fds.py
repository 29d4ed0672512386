from __future__ import annotations

import os
import select
import socket
from multiprocessing import resource_tracker

from faultinject.probes._fds import FileDescriptors


def test_an_open_file_is_seen_with_its_path_until_it_is_closed(tmp_path, new):
    probe = FileDescriptors()
    before = probe.snapshot()
    with open(tmp_path / "some file", "w") as file:
        ((key, item),) = new(probe, before).items()
        assert key == f"{file.fileno()}:{tmp_path / 'some file'}"
        assert item.label == f"fd {file.fileno()} -> {tmp_path / 'some file'}"
    assert probe.snapshot() == before


def test_sockets_pipes_and_epolls_have_their_kind_as_group(new):
    probe = FileDescriptors()
    before = probe.snapshot()
    with socket.socket(), select.epoll():
        ends = os.pipe()
        groups = sorted(item.group for item in new(probe, before).values())
        for end in ends:
            os.close(end)
    assert groups == ["eventpoll", "pipe", "pipe", "socket"]
    assert probe.snapshot() == before


def test_a_number_that_is_reused_for_another_thing_is_another_key(tmp_path, new):
    probe = FileDescriptors()
    before = probe.snapshot()
    number = os.open(tmp_path, os.O_RDONLY)
    first = new(probe, before)
    other = os.open("/dev/null", os.O_RDONLY)
    os.dup2(other, number)
    os.close(other)
    second = new(probe, before)
    os.close(number)
    assert len(first) == len(second) == 1
    assert first.keys() != second.keys()


def test_an_eventfd_whose_number_became_an_epoll_is_told_apart(new):
    probe = FileDescriptors()
    before = probe.snapshot()
    number = os.eventfd(0)
    (first,) = new(probe, before).values()
    with select.epoll() as poll:
        os.dup2(poll.fileno(), number)
    (second,) = new(probe, before).values()
    os.close(number)
    assert (first.group, second.group) == ("eventfd", "eventpoll")


def test_a_file_that_is_unlinked_while_open_keeps_its_key(tmp_path, new):
    probe = FileDescriptors()
    before = probe.snapshot()
    with open(tmp_path / "gone", "w"):
        first = new(probe, before)
        os.unlink(tmp_path / "gone")
        second = new(probe, before)
    assert first.keys() == second.keys()
    assert next(iter(second.values())).label.endswith("(deleted)")


def test_a_name_that_is_no_utf8_can_still_be_written_to_a_report(tmp_path, new):
    probe = FileDescriptors()
    before = probe.snapshot()
    number = os.open(os.fsencode(tmp_path) + b"/\xff", os.O_CREAT | os.O_WRONLY)
    (item,) = new(probe, before).values()
    os.close(number)
    assert item.label.encode("utf-8").endswith(b"\\udcff")


def test_the_pipe_to_the_resource_tracker_is_nobodys(new):
    probe = FileDescriptors()
    resource_tracker.ensure_running()
    number = resource_tracker._resource_tracker._fd
    assert os.fstat(number)
    assert not [key for key in probe.snapshot() if key.startswith(f"{number}:")]


def test_a_fork_sees_the_same_and_closing_there_closes_nothing_here(new, in_fork):
    probe = FileDescriptors()
    before = probe.snapshot()
    ours, theirs = socket.socketpair()
    mine = new(probe, before)

    def there():
        seen = [key for key in mine if key in probe.snapshot()]
        ours.close()
        theirs.close()
        return seen

    assert set(in_fork(there)) == mine.keys()
    assert new(probe, before).keys() == mine.keys()
    ours.close()
    theirs.close()
