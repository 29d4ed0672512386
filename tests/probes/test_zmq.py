from __future__ import annotations

import subprocess
import sys

import pytest

from faultinject.probes._zmq import ZeroMQ

zmq = pytest.importorskip("zmq")


def test_a_context_and_its_socket_are_seen_until_they_are_closed(new, until):
    probe = ZeroMQ()
    before = probe.snapshot()
    context = zmq.Context.instance()
    held = context.socket(zmq.PUB)
    until(lambda: len(new(probe, before)) == 3)
    assert sorted(i.group for i in new(probe, before).values()) == ["PUB socket", "context", "shared context"]
    held.close()
    assert sorted(i.group for i in new(probe, before).values()) == ["context", "shared context"]
    context.term()
    until(lambda: not new(probe, before))


def test_a_context_that_nobody_shares_is_seen_by_its_thread(new, until):
    probe = ZeroMQ()
    before = probe.snapshot()
    context = zmq.Context()
    held = context.socket(zmq.PUSH)
    (item,) = until(lambda: new(probe, before)).values()
    assert item.label == "ZeroMQ context with sockets"
    held.close()
    context.term()
    until(lambda: not new(probe, before))


def test_a_fork_does_not_see_the_threads_of_a_context(new, in_fork, until):
    probe = ZeroMQ()
    before = probe.snapshot()
    context = zmq.Context()
    held = context.socket(zmq.PUSH)
    until(lambda: new(probe, before))
    assert not in_fork(lambda: list(new(probe, before)))
    held.close()
    context.term()


def test_zmq_is_not_imported_for_it():
    code = (
        "import sys; from faultinject.probes._zmq import ZeroMQ\n"
        "assert ZeroMQ().snapshot() == {}; assert 'zmq' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
