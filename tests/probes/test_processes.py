from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from multiprocessing import resource_tracker, shared_memory

from faultinject.probes import _processes
from faultinject.probes._processes import Processes


def _sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "1000"])


def test_a_child_is_seen_by_its_command_until_it_is_reaped(new):
    probe = Processes()
    before = probe.snapshot()
    with _sleeper() as child:
        ((key, item),) = new(probe, before).items()
        assert key.startswith(f"{child.pid}:")
        assert item.label == f"process 'sleep' (pid {child.pid})"
        child.kill()
    assert not new(probe, before)


def test_a_zombie_is_seen_as_one_and_is_not_reaped_by_looking(new, until):
    probe = Processes()
    before = probe.snapshot()
    child = _sleeper()
    alive = new(probe, before)
    child.send_signal(signal.SIGKILL)
    until(lambda: os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG))
    dead = new(probe, before)
    assert dead.keys() == alive.keys()
    (item,) = dead.values()
    assert item.label == f"zombie 'sleep' (pid {child.pid})"
    assert item.group == "sleep (zombie)"
    assert child.wait() == -signal.SIGKILL
    assert not new(probe, before)


def test_a_stopped_child_is_said_to_be_stopped(new, until):
    probe = Processes()
    before = probe.snapshot()
    with _sleeper() as child:
        child.send_signal(signal.SIGSTOP)
        until(lambda: "stopped" in next(iter(new(probe, before).values())).label)
        child.kill()


def test_a_grandchild_is_seen_and_so_is_a_child_that_another_thread_started(new, until):
    probe = Processes()
    before = probe.snapshot()
    children = []
    code = "import subprocess; p = subprocess.Popen(['sleep', '1000']); print(p.pid, flush=True); p.wait()"
    starting, ending = threading.Event(), threading.Event()

    def start():
        children.append(subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE))
        starting.set()
        ending.wait()

    thread = threading.Thread(target=start)
    thread.start()
    starting.wait()
    (child,) = children
    grandchild = int(child.stdout.readline())
    seen = {int(key.partition(":")[0]) for key in new(probe, before)}
    assert seen == {child.pid, grandchild}
    os.kill(grandchild, signal.SIGKILL)
    with child:
        pass
    ending.set()
    thread.join()
    until(lambda: not new(probe, before))


def test_where_the_kernel_lists_no_children_the_parents_are_asked(new):
    probe = Processes()
    before = probe.snapshot()
    with _sleeper() as child:
        slow = {pid: facts.command for pid, facts in _processes._descendants_by_parent()}
        fast = {pid: facts.command for pid, facts in _processes.descendants()}
        assert slow[child.pid] == "sleep"
        assert slow == fast
        child.kill()
    assert not new(probe, before)


def test_the_resource_tracker_is_never_accused(new):
    probe = Processes()
    block = shared_memory.SharedMemory(create=True, size=16)
    block.close()
    block.unlink()
    tracker = resource_tracker._resource_tracker._pid
    assert tracker in {pid for pid, _ in _processes.descendants()}
    assert not [key for key in probe.snapshot() if key.startswith(f"{tracker}:")]


def test_the_resource_tracker_of_a_child_is_not_accused_either(new, until):
    probe = Processes()
    before = probe.snapshot()
    code = (
        "from multiprocessing import resource_tracker as r; r.ensure_running(); "
        "print(r._resource_tracker._pid, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        child.stdout.readline()
        until(lambda: {int(key.partition(":")[0]) for key in new(probe, before)} == {child.pid})
        child.communicate(b"\n")
    assert not new(probe, before)


def test_a_multiprocessing_child_bears_the_name_it_was_given(new):
    probe = Processes()
    before = probe.snapshot()
    child = multiprocessing.get_context("fork").Process(target=signal.pause, name="Worker-3")
    child.start()
    (item,) = new(probe, before).values()
    assert item.label == f"process 'Worker-3' (pid {child.pid}, in multiprocessing's table)"
    assert item.group == "Worker-#"
    child.kill()
    child.join()
    child.close()
    assert not new(probe, before)


def test_a_fork_has_no_children_and_can_still_kill_ours(new, in_fork):
    probe = Processes()
    before = probe.snapshot()
    with _sleeper() as child:
        assert new(probe, before)
        assert in_fork(lambda: list(probe.snapshot())) == []
        in_fork(lambda: os.kill(child.pid, signal.SIGKILL))
    assert not new(probe, before)
