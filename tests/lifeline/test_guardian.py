"""The guardian itself: killed, hung, refusing, ending."""

from __future__ import annotations

import os
import signal
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from engine.lifeline import LifelineError
from engine.lifeline._guard._wire import pack, unpack
from tests.lifeline._tree import ROOT, Tree, all_end


def test_it_ends_when_nothing_is_left_to_guard(trees: Tree, watching: str) -> None:
    trees.run("caller", "fork")
    _, engine, *workers = trees.wait("caller", "engine", "worker0", "worker1")
    guardian = trees.guardian()
    # The caller lives on: nothing is to be done when it dies.
    engine.kill()
    assert all_end([*workers])
    assert guardian.ends_within(5)


def test_it_is_nobodys_child_and_in_no_ones_group(trees: Tree) -> None:
    trees.run("parent", "fork")
    parent, _ = trees.wait("parent", "child")
    guardian = trees.guardian()
    fields = Path(f"/proc/{guardian.pid}/stat").read_text().rpartition(")")[2].split()
    assert int(fields[1]) != parent.pid
    assert os.getsid(guardian.pid) != os.getsid(parent.pid)
    assert os.getpgid(guardian.pid) != os.getpgid(parent.pid)
    assert os.readlink(f"/proc/{guardian.pid}/cwd") == "/"
    held = {os.readlink(f"/proc/{guardian.pid}/fd/{name}") for name in ("0", "1", "2")}
    assert held == {"/dev/null"}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        guardian.kill(number)
    assert parent.pid in trees.guarded()


def test_starting_it_keeps_nothing_of_its_callers_alive(trees: Tree) -> None:
    trees.run("beginning_from_a_frame_that_holds_something")
    trees.wait("parent", "stranger")
    assert trees.heard("held") == "gone with its frame"


def test_another_takes_the_place_of_one_that_was_killed(trees: Tree) -> None:
    # The children do nothing for themselves: only their parent can tell the new one of the first.
    trees.run("twice")
    parent, first = trees.wait("parent", "first")
    guardian = trees.guardian()
    guardian.kill()
    assert guardian.ends_within(2)
    assert not trees.guarded()
    parent.kill(signal.SIGUSR1)
    (second,) = trees.wait("second")
    assert trees.heard("again") == "done"
    parent.kill()
    assert all_end([first, second])


def test_an_armed_child_replaces_it_at_once(trees: Tree) -> None:
    trees.run("caller", "fork")
    caller, engine, *workers = trees.wait("caller", "engine", "worker0", "worker1")
    guardian = trees.guardian()
    guardian.kill()
    assert guardian.ends_within(2)
    everybody = {one.pid for one in (caller, engine, *workers)}
    trees.until(lambda: everybody <= trees.guarded())
    assert trees.guardian().pid != guardian.pid
    caller.kill()
    assert all_end([engine, *workers])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_while_it_hangs_each_child_watches_its_parent_itself(trees: Tree, method: str, watching: str) -> None:
    trees.run("caller", method)
    caller, engine, *workers = trees.wait("caller", "engine", "worker0", "worker1")
    guardian = trees.guardian()
    guardian.kill(signal.SIGSTOP)
    caller.kill()
    assert all_end([engine, *workers])


def test_while_it_hangs_what_is_below_a_child_ends_too(trees: Tree) -> None:
    trees.run("with_untold", "cleared")
    parent, armed, untold = trees.wait("parent", "armed", "stranger")
    trees.guardian().kill(signal.SIGSTOP)
    parent.kill()
    assert all_end([armed, untold])


def test_who_does_not_know_the_secret_is_refused(trees: Tree) -> None:
    trees.run("parent", "fork")
    trees.wait("parent", "child")
    link = trees.link()
    assert link.ask("state")
    link.ticket = replace(link.ticket, secret="0" * 32)
    with pytest.raises(LifelineError, match="secret"):
        link.ask("state")


def test_who_names_another_than_itself_is_refused(trees: Tree) -> None:
    trees.run("parent", "fork")
    parent, _ = trees.wait("parent", "child")
    link = trees.link()
    me = link.me
    link.me = (parent.pid, 1)
    with pytest.raises(LifelineError, match="namespace"):
        link.ask("state")
    link.me = (me[0], me[1] - 1)
    with pytest.raises(LifelineError, match="did not start"):
        link.ask("state")


def test_nonsense_does_not_end_it(trees: Tree) -> None:
    trees.run("parent", "fork")
    parent, child = trees.wait("parent", "child")
    link = trees.link()
    with pytest.raises(LifelineError, match="nonsense"):
        link.ask("nonsense")
    for packet in (b"x", b"\xff" * 60000, pack(link.ticket.secret, "arm", *link.me)):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
            asking.connect(b"\0" + link.ticket.address.encode())
            asking.send(packet)
            assert unpack(asking.recv(65536))[0] == "no"
    # One that says nothing keeps nobody waiting.
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as silent:
        silent.connect(b"\0" + link.ticket.address.encode())
        assert {parent.pid, child.pid} <= trees.guarded()


def test_it_imports_little_and_nothing_of_the_engine() -> None:
    import subprocess
    import sys

    script = (
        "import sys; sys.path.append(sys.argv[1]); import _guard._serve\n"
        "print(*sorted(m for m in sys.modules if m.partition('.')[0] in "
        "('engine', 'json', 're', 'typing', 'dataclasses', 'subprocess', 'logging', 'ctypes', 'tempfile')))"
    )
    said = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, str(ROOT / "engine" / "lifeline")],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert said.stdout.strip() == ""
