"""Whatever a child is doing when its parent dies."""

from __future__ import annotations

import os
import select
from pathlib import Path

import pytest

from tests.lifeline._tree import LIMIT_S, Tree, all_end

BEFORE_ANYTHING = """
import ctypes, os, socket, sys
if "--multiprocessing-fork" in sys.orig_argv:
    telling = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    telling.connect(chr(0) + os.environ["LIFELINE_TEST"])
    telling.send(b"here child %d" % os.getpid())
    ctypes.PyDLL(None).sleep(60)
"""


@pytest.mark.parametrize("busy", ["deaf", "receiving", "holding_the_lock", "importing"])
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_it_ends_whatever_it_is_doing(trees: Tree, method: str, busy: str) -> None:
    trees.run("parent", method, busy)
    parent, child = trees.wait("parent", "child")
    parent.kill()
    assert all_end([child])


@pytest.mark.parametrize("busy", ["receiving", "holding_the_lock", "importing"])
def test_without_a_lifeline_it_goes_on_doing_it(trees: Tree, busy: str) -> None:
    trees.run("parent", "spawn", busy, "bare")
    parent, child = trees.wait("parent", "child")
    parent.kill()
    assert parent.ends_within(2)
    assert not child.ends_within(0.5)


@pytest.mark.parametrize("options", [(), ("bare",)])
def test_it_ends_before_it_has_run_a_line_of_its_own(
    trees: Tree, options: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(BEFORE_ANYTHING)
    trees.run("parent", "spawn", "sleeping", *options, PYTHONPATH=str(tmp_path), LIFELINE_TEST=trees.address)
    parent, child = trees.wait("parent", "child")
    parent.kill()
    assert parent.ends_within(2)
    assert child.ends_within(2.0 if not options else 0.5) == (not options)


def test_a_grace_lets_it_end_in_order(trees: Tree) -> None:
    trees.run("with_graceful", "orderly")
    parent, child = trees.wait("parent", "graceful")
    parent.kill()
    assert trees.heard("graceful") == "there"
    assert all_end([child])


def test_one_that_does_not_use_its_grace_is_killed(trees: Tree, watching: str) -> None:
    trees.run("with_graceful", "stubborn")
    parent, child = trees.wait("parent", "graceful")
    parent.kill()
    assert all_end([child])
    assert trees.heard("graceful") == "there"


def test_one_that_cannot_use_it_is_killed_by_the_guardian(trees: Tree, watching: str) -> None:
    # It holds the interpreter's lock: its own thread does nothing.
    trees.run("with_graceful", "locked")
    parent, child = trees.wait("parent", "graceful")
    parent.kill()
    assert all_end([child])


@pytest.mark.parametrize("how", ["child", "shell"])
def test_what_an_armed_process_told_nobody_of_ends_with_it(trees: Tree, how: str) -> None:
    trees.run("with_untold", how)
    parent, armed, untold = trees.wait("parent", "armed", "stranger")
    armed.kill()
    assert all_end([untold])
    trees.until_unguarded(armed)
    assert parent.lives


def test_it_lives_on_without_its_mark_which_it_may_clear(trees: Tree) -> None:
    trees.run("with_untold", "cleared")
    _, armed, untold = trees.wait("parent", "armed", "stranger")
    armed.kill()
    trees.until_unguarded(armed)
    assert untold.lives


def test_and_ends_all_the_same_when_it_is_below_one_that_is_killed(trees: Tree) -> None:
    trees.run("with_untold", "cleared")
    parent, armed, untold = trees.wait("parent", "armed", "stranger")
    parent.kill()
    assert all_end([armed, untold])


def test_nobody_escapes_from_one_that_forks_while_it_is_being_killed(trees: Tree) -> None:
    reading, writing = os.pipe()
    try:
        # Each process below the parent has a copy: it is closed when the last of them is gone.
        trees.run("with_forker", str(writing), inherit=[writing])
        os.close(writing)
        parent, _ = trees.wait("parent", "child")
        parent.kill()
        assert select.select([reading], [], [], LIMIT_S)[0]
        assert os.read(reading, 1) == b""
    finally:
        os.close(reading)


def test_multiprocessings_resource_tracker_is_left_to_do_its_work(trees: Tree) -> None:
    trees.run("with_tracker")
    parent, child = trees.wait("parent", "child")
    segment = Path("/dev/shm", trees.heard("segment"))
    assert segment.exists()
    parent.kill()
    assert all_end([child])
    trees.until(lambda: not segment.exists())


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_in_a_container_without_an_init_process_a_zombie_is_dead(
    trees: Tree, method: str, segment: str, watching: str
) -> None:
    trees.run("without_init", method, segment)
    first, caller, *below = trees.wait("first", "caller", "engine", "worker0", "worker1")
    caller.kill()
    assert all_end(below)
    # Nobody reaps them; yet they are seen to be gone, and what they made is removed.
    trees.until(lambda: not Path("/dev/shm", segment).exists())
    states = [
        Path(f"/proc/{one.pid}/stat").read_text().rpartition(")")[2].split()[0] for one in (caller, *below)
    ]
    assert states == ["Z"] * 4
    assert first.lives
