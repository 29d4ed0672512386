"""Processes are ended for certain, and their owners learn of it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import psutil

from engine import stop_processes
from tests.ownership.test_deadlines import IGNORES_ITS_END, start

SLEEPS = [sys.executable, "-c", "import signal; signal.pause()"]


def pause() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pause()


def refuse(ready: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(ready.fileno(), b"x")  # type: ignore[attr-defined]
    while True:
        signal.pause()


def test_a_child_ends_by_being_asked_and_its_status_is_known() -> None:
    child = subprocess.Popen(SLEEPS)
    assert stop_processes([child]) == ()
    assert child.returncode == -signal.SIGTERM


def test_one_that_ignores_it_is_killed() -> None:
    child = start(IGNORES_ITS_END)
    assert stop_processes([child], grace=0.1) == ()
    assert child.returncode == -signal.SIGKILL
    assert child.stdout is not None
    child.stdout.close()


TIDIES_UP = """
import os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
print("ready", flush=True)
signal.pause()
"""


def test_one_that_is_stopped_still_cleans_up() -> None:
    child = start(TIDIES_UP)
    child.send_signal(signal.SIGSTOP)
    while psutil.Process(child.pid).status() != psutil.STATUS_STOPPED:
        time.sleep(0.01)
    assert stop_processes([child], grace=10.0) == ()
    assert child.returncode == 3
    assert child.stdout is not None
    child.stdout.close()


def test_a_process_of_multiprocessing_does_not_count_as_alive_afterwards() -> None:
    context = multiprocessing.get_context("fork")
    asked = context.Process(target=pause)
    asked.start()
    receiver, sender = context.Pipe(duplex=False)
    refusing = context.Process(target=refuse, args=(sender,))
    refusing.start()
    os.read(receiver.fileno(), 1)
    assert stop_processes([asked, refusing], grace=0.2) == ()
    assert (asked.is_alive(), asked.exitcode) == (False, -signal.SIGTERM)
    assert (refusing.is_alive(), refusing.exitcode) == (False, -signal.SIGKILL)
    assert not {asked, refusing} & set(multiprocessing.active_children())
    for end in (receiver, sender):
        end.close()


def test_what_has_only_a_pid_is_reaped() -> None:
    child = subprocess.Popen(SLEEPS)
    assert stop_processes([SimpleNamespace(pid=child.pid)]) == ()
    # Its status went to whom it was asked for; nothing is left of it to be waited for.
    assert not os.path.exists(f"/proc/{child.pid}")
    child.wait()


def test_what_never_started_or_has_ended_is_passed_over() -> None:
    context = multiprocessing.get_context("fork")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert stop_processes([context.Process(target=pause), ended, SimpleNamespace(pid=None)]) == ()


def test_several_end_together() -> None:
    children = [subprocess.Popen(SLEEPS) for _ in range(3)]
    assert stop_processes(iter(children)) == ()
    assert [child.returncode for child in children] == [-signal.SIGTERM] * 3


FIRST_THREAD_ENDS = """
import ctypes, os, signal, threading
signal.signal(signal.SIGTERM, signal.SIG_IGN)
threading.Thread(target=lambda: (os.read(0, 1), os.write(1, b"x"), signal.pause())).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def test_one_whose_first_thread_alone_has_ended_looks_like_a_zombie_and_is_killed_all_the_same() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", FIRST_THREAD_ENDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    seen = psutil.Process(child.pid)
    while seen.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    assert stop_processes([child], grace=0.1) == ()
    assert child.returncode == -signal.SIGKILL
    child.stdin.close()
    child.stdout.close()
