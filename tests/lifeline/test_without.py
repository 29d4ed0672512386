"""Without descriptors, without a place to write, in a fork that knows of nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.lifeline import LifelineError, arm
from engine.lifeline._guard._proc import Facts, has_ended, identity, open_pidfd
from engine.lifeline._start import start_guardian
from engine.lifeline._ticket import new_ticket, read_ticket
from tests.lifeline._tree import ROOT, Tree, all_end


def test_with_a_full_descriptor_table_it_says_so_and_works_when_there_is_room_again(trees: Tree) -> None:
    trees.run("full")
    assert "Too many open files" in trees.heard("full")
    parent, child = trees.wait("parent", "first")
    parent.kill()
    assert all_end([child])


def test_without_a_place_for_its_list_it_guards_all_the_same(
    trees: Tree, segment: str, tmp_path: Path
) -> None:
    # A file is in the place of each directory, /tmp excepted, which every machine has.
    (tmp_path / "x").write_text("")
    nowhere = str(tmp_path / "x")
    trees.run("naming", segment, str(tmp_path), XDG_RUNTIME_DIR=nowhere, TMPDIR=nowhere)
    (parent,) = trees.wait("parent")
    parent.kill()
    trees.until(lambda: not Path("/dev/shm", segment).exists())


def test_a_fork_that_never_heard_of_it_can_have_children_of_its_own(trees: Tree, watching: str) -> None:
    trees.run("forking")
    _, fork, child = trees.wait("parent", "fork", "stranger")
    # It holds no copy of the end that closes when its parent dies: pattern of the death pipe kept open.
    assert trees.heard("pipe") == ("none" if watching == "pidfd" else "closed")
    fork.kill()
    assert all_end([child])


def test_a_guardian_that_does_not_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nothing/of/that/name")
    import multiprocessing.spawn as spawn

    monkeypatch.setattr(spawn, "_python_exe", b"/nothing/of/that/name")
    with pytest.raises(LifelineError, match="does not start"):
        start_guardian(new_ticket())
    monkeypatch.setattr(spawn, "_python_exe", b"/bin/true")
    with pytest.raises(LifelineError, match="does not start"):
        start_guardian(new_ticket())


def test_a_grace_has_its_limits() -> None:
    for grace in (-1.0, 1.6, float("nan")):
        with pytest.raises(ValueError, match="grace"):
            arm(grace=grace)


def test_a_process_is_told_by_its_start_time_too() -> None:
    me = identity(os.getpid())
    assert me is not None
    assert not has_ended(me)
    assert has_ended((me[0], me[1] - 1))
    descriptor = open_pidfd(me)
    assert descriptor is not None
    os.close(descriptor)
    with pytest.raises(ProcessLookupError):
        open_pidfd((me[0], me[1] - 1))


def test_a_zombie_has_ended_but_not_one_whose_other_threads_run() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    who = identity(child.pid)
    assert who is not None
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert identity(child.pid) == who
    assert has_ended(who)
    child.wait()
    assert has_ended(who)
    # The line of a process whose first thread has left, and one with all that a name may have in it.
    line = b"7 (a) Z 1 (b)) %s 5 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 %d 0 99 0 0"
    assert not Facts(line % (b"Z", 3)).ended
    assert Facts(line % (b"Z", 1)).ended
    assert not Facts(line % (b"T", 1)).ended
    assert (Facts(line % (b"S", 1)).parent, Facts(line % (b"S", 1)).start) == (5, 99)


def test_a_ticket_is_read_as_it_was_written_and_one_of_another_namespace_is_none() -> None:
    ticket = new_ticket()
    assert read_ticket(str(ticket)) == ticket
    assert read_ticket(str(ticket).replace(ticket.namespace, "pid:[1]")) is None
    for text in ("", "a,b", str(ticket) + ",x", f"a,{ticket.namespace},s,one,two"):
        assert read_ticket(text) is None


def test_importing_it_starts_nothing_and_loads_nothing_heavy() -> None:
    script = (
        "import sys, threading\nimport engine\nbefore = set(sys.modules)\nimport engine.lifeline\n"
        "print(*sorted({'asyncio', 'multiprocessing', 'psutil', 'subprocess', 'ctypes', 'torch'} & "
        "(set(sys.modules) - before)), threading.active_count())"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert said.stdout.strip() == "1"
