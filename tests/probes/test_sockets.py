from __future__ import annotations

import os
import socket
import tempfile

import pytest

from faultinject.probes._fds import FileDescriptors
from faultinject.probes._sockets import Sockets


def test_a_listening_socket_is_seen_with_its_port_until_it_is_closed(new):
    probe = Sockets()
    before = probe.snapshot()
    with socket.create_server(("127.0.0.1", 0)) as server:
        ((key, item),) = new(probe, before).items()
        assert key == f"socket:[{os.fstat(server.fileno()).st_ino}]"
        assert item.label == f"tcp listening on 127.0.0.1:{server.getsockname()[1]}"
        assert item.group == "tcp listening on 127.0.0.1:#"
    assert probe.snapshot() == before


@pytest.mark.parametrize(
    ("kind", "label"), [(socket.SOCK_STREAM, "tcp bound on"), (socket.SOCK_DGRAM, "udp bound on")]
)
def test_a_socket_that_is_bound_only_keeps_its_port_taken_and_is_seen(kind, label, new):
    probe = Sockets()
    before = probe.snapshot()
    with socket.socket(socket.AF_INET, kind) as bound:
        assert not new(probe, before)
        bound.bind(("127.0.0.1", 0))
        (item,) = new(probe, before).values()
        assert item.label.startswith(label)
    assert probe.snapshot() == before


def test_a_unix_socket_is_seen_by_path_and_an_abstract_one_by_name(new):
    probe = Sockets()
    before = probe.snapshot()
    with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as named:
        named.bind(f"{directory}/s")
        named.listen()
        (item,) = new(probe, before).values()
        assert item.label == f"unix listening on {directory}/s"
    with socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0faultinject-{os.getpid()}")
        (item,) = new(probe, before).values()
        assert item.label == f"unix bound on @faultinject-{os.getpid()}"
        assert item.group == "unix bound on @faultinject-#"
    assert probe.snapshot() == before


def test_a_connection_is_left_to_the_descriptors(new):
    probe = Sockets()
    with socket.create_server(("127.0.0.1", 0)) as server:
        before = probe.snapshot()
        with socket.create_connection(server.getsockname()), server.accept()[0]:
            assert not new(probe, before)


def test_looking_closes_no_socket_and_leaves_no_descriptor():
    descriptors = FileDescriptors()
    with socket.create_server(("127.0.0.1", 0)) as server:
        before = descriptors.snapshot()
        Sockets().snapshot()
        assert descriptors.snapshot() == before
        with socket.create_connection(server.getsockname()):
            pass


def test_a_fork_sees_the_same_and_closing_there_closes_nothing_here(new, in_fork):
    probe = Sockets()
    before = probe.snapshot()
    with socket.create_server(("127.0.0.1", 0)) as server:
        mine = new(probe, before)

        def there():
            seen = list(new(probe, before))
            server.close()
            return seen

        assert in_fork(there) == list(mine)
        assert new(probe, before) == mine
