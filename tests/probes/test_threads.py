from __future__ import annotations

import os
import threading

import pytest

from faultinject.probes._threads import Threads


def test_a_thread_is_seen_by_its_name_until_it_has_ended(new, until):
    probe = Threads()
    before = probe.snapshot()
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="loader-7")
    thread.start()
    ((key, item),) = new(probe, before).items()
    assert key.startswith(f"{thread.native_id}:")
    assert item.label == f"thread 'loader-7' ({thread.native_id})"
    assert item.group == "loader-#"
    stop.set()
    thread.join()
    until(lambda: not new(probe, before))


def test_a_thread_that_python_does_not_know_is_seen(new, until):
    zmq = pytest.importorskip("zmq")
    probe = Threads()
    before = probe.snapshot()
    context = zmq.Context()
    context.socket(zmq.PUB).close()
    groups = until(lambda: (g := {i.group for i in new(probe, before).values()}) and g)
    assert all(group.startswith("native ") for group in groups)
    context.term()
    until(lambda: not new(probe, before))


def test_the_main_thread_is_the_main_thread_in_a_fork_too(in_fork):
    probe = Threads()
    assert probe.snapshot()["main"].label == "main thread"
    assert in_fork(lambda: list(probe.snapshot())) == ["main"]


def test_a_fork_does_not_see_the_threads(new, in_fork):
    probe = Threads()
    before = probe.snapshot()
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    assert new(probe, before)
    assert not in_fork(lambda: list(new(probe, before)))
    stop.set()
    thread.join()


def test_the_kernel_and_python_agree_on_the_numbers():
    stop = threading.Event()
    threads = [threading.Thread(target=stop.wait) for _ in range(5)]
    for thread in threads:
        thread.start()
    seen = {key.partition(":")[0] for key in Threads().snapshot()}
    stop.set()
    for thread in threads:
        thread.join()
    assert {str(thread.native_id) for thread in threads} <= seen
    assert str(os.getpid()) not in seen


def test_a_thread_that_has_just_started_bears_its_name_already(new):
    gate = threading.Event()

    class Lingering(threading.Event):
        def set(self):
            super().set()
            gate.wait()

    probe = Threads()
    before = probe.snapshot()
    thread = threading.Thread(target=int, name="loader-8")
    thread._started = Lingering()
    thread.start()
    try:
        assert thread.ident not in threading._active
        assert [item.group for item in new(probe, before).values()] == ["loader-#"]
    finally:
        gate.set()
        thread.join()
