from __future__ import annotations

import multiprocessing
import os
import signal
from multiprocessing import resource_tracker

from faultinject.probes._multiprocessing import MultiprocessingChildren


def test_a_child_is_seen_until_it_is_joined_and_looking_does_not_reap_it(new):
    probe = MultiprocessingChildren()
    before = probe.snapshot()
    child = multiprocessing.get_context("fork").Process(target=signal.pause, name="Worker-1", daemon=True)
    child.start()
    ((key, item),) = new(probe, before).items()
    assert key.startswith(f"{child.pid}:")
    assert item.label == f"multiprocessing child 'Worker-1' (daemon) (pid {child.pid})"
    assert item.group == "Worker-# (daemon)"
    os.kill(child.pid, signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert new(probe, before).keys() == {key}
    assert os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    child.join()
    child.close()
    assert not new(probe, before)


def test_a_fork_sees_the_table(new, in_fork):
    probe = MultiprocessingChildren()
    before = probe.snapshot()
    child = multiprocessing.get_context("fork").Process(target=signal.pause)
    child.start()
    mine = new(probe, before)
    assert in_fork(lambda: list(new(probe, before))) == list(mine)
    child.kill()
    child.join()
    child.close()


def test_the_resource_tracker_is_no_child_of_this_kind():
    resource_tracker.ensure_running()
    assert str(resource_tracker._resource_tracker._pid) not in str(MultiprocessingChildren().snapshot())
