"""A signal whose handler raises where nothing can come out is heard all the same."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys, weakref
from engine._lost import raise_again

asked = []

def end(number, frame):
    asked.append(number)
    raise SystemExit(128 + number)

def interrupted(*_):
    os.kill(os.getpid(), signal.SIGTERM)

class Thing:
    def __del__(self):
        if where == "finalizer":
            interrupted()

where, how = sys.argv[1:]
signal.signal(signal.SIGTERM, end)
if how == "again":
    raise_again(lambda: asked[0] if len(asked) == 1 else 0)
thing = Thing()
known = weakref.ref(thing, interrupted) if where == "callback" else None
if where == "fork":
    os.register_at_fork(after_in_parent=interrupted)
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
del thing
print("goes on", len(asked), flush=True)
if how == "again":
    signal.pause()
"""


def run(where: str, how: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, where, how], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("where", ["finalizer", "callback", "fork"])
def test_what_is_lost_on_the_way_is_raised_again(where: str) -> None:
    assert run(where, "again") == (128 + signal.SIGTERM, "goes on 1\n")


@pytest.mark.parametrize("where", ["finalizer", "callback", "fork"])
def test_without_that_the_process_goes_on(where: str) -> None:
    assert run(where, "plain") == (0, "goes on 1\n")


ELSEWHERE = """
import sys, threading
from engine._lost import raise_again

told = []
raise_again(lambda: told.append("first") or 0)
raise_again(lambda: told.append("second") or 0)

class Ends:
    def __del__(self):
        raise SystemExit

class Fails:
    def __del__(self):
        raise ValueError

thread = threading.Thread(target=lambda: [Ends()].clear())
thread.start()
thread.join()
[Fails()].clear()
print(told)
[Ends()].clear()
print(told)
"""


def test_only_the_main_threads_end_counts_and_the_last_who_asked_is_told() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n['second']\n"
    assert done.stderr.count("Exception ignored in") == 3
