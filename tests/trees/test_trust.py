"""Who may speak, and for whom a plan is meant."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import faultinject.trees
from faultinject.targets import TargetSpec
from faultinject.trees import TreeObservation, TreePool
from faultinject.trees._agent._trust import read_plan, start_of
from faultinject.trees._messages import Run

SITE = str(Path(faultinject.trees.__file__).parent / "_site")

SHOW = "import json, sys; print(json.dumps([m for m in sys.modules if 'faultinject' in m]))"

PROGRAM = '''
import os, socket, subprocess, sys, time

def call():
    """Tells where its plan is, then waits until it is let go."""
    told, gate = os.environ["TEST_TREE_TOLD"], os.environ["TEST_TREE_GATE"]
    with open(told, "w") as file:
        file.write(os.environ["FAULTINJECT_TREE"])
    with open(gate) as file:
        file.read()
    child = subprocess.run([sys.executable, "-c", "print('hello')"], capture_output=True, text=True)
    assert (child.stdout, child.stderr) == ("hello\\n", ""), child
'''


def write_plan(directory: Path, **changes: object) -> Path:
    plan = {"conductor": os.getppid(), "started": start_of(os.getppid()), "milestones": [], **changes}
    directory.chmod(0o700)
    (directory / "plan.json").write_text(json.dumps(plan))
    return directory


def test_a_plan_of_an_ancestor_is_read(tmp_path: Path) -> None:
    assert read_plan(str(write_plan(tmp_path))) is not None


def test_a_plan_whose_conductor_is_no_ancestor_is_nothing(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert read_plan(str(write_plan(tmp_path, conductor=other.pid, started=start_of(other.pid)))) is None
    finally:
        other.communicate(b"\n")


def test_a_plan_whose_conductor_is_dead_is_nothing_though_its_pid_has_come_back(tmp_path: Path) -> None:
    assert read_plan(str(write_plan(tmp_path, started=start_of(os.getppid()) - 1))) is None


def test_a_plan_that_others_could_have_written_is_nothing(tmp_path: Path) -> None:
    directory = write_plan(tmp_path)
    directory.chmod(0o755)
    assert read_plan(str(directory)) is None
    directory.chmod(0o700)
    (tmp_path / "link").symlink_to(directory)
    assert read_plan(str(tmp_path / "link")) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_plan_of_another_user_is_nothing(tmp_path: Path) -> None:
    directory = write_plan(tmp_path)
    os.chown(directory, 12345, -1)
    assert read_plan(str(directory)) is None
    os.chown(directory, 0, -1)


def test_a_plan_left_in_the_environment_of_an_unrelated_process_does_nothing(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    started = start_of(gone.pid)
    gone.wait()
    directory = write_plan(tmp_path, conductor=gone.pid, started=started)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(directory / "socket"))
        listener.listen()
        listener.setblocking(False)
        done = subprocess.run(
            [sys.executable, "-c", SHOW], capture_output=True, text=True,
            env={**os.environ, "FAULTINJECT_TREE": str(directory), "PYTHONPATH": SITE},
        )  # fmt: skip
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert done.stderr == ""
    assert json.loads(done.stdout) in ([], ["_faultinject_agent"]) or all(
        name.startswith("_faultinject_agent") for name in json.loads(done.stdout)
    )


def test_the_users_own_sitecustomize_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine', __name__)\n")
    done = subprocess.run(
        [sys.executable, "-c", "import sys, sitecustomize; print(sitecustomize.__file__); print(sys.path)"],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": f"{SITE}{os.pathsep}{tmp_path}"},
    )  # fmt: skip
    said, where, path = done.stdout.splitlines()
    assert said == "mine sitecustomize"
    assert where == str(tmp_path / "sitecustomize.py")
    assert SITE not in path
    assert done.stderr == ""


def test_a_process_outside_of_the_tree_is_not_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    told, gate = tmp_path / "told", tmp_path / "gate"
    for one in (told, gate):
        os.mkfifo(one)
    monkeypatch.setenv("TEST_TREE_TOLD", str(told))
    monkeypatch.setenv("TEST_TREE_GATE", str(gate))
    seen: list[TreeObservation] = []
    answers: list[bytes] = []

    def intrude() -> None:
        directory = told.read_text()
        assert os.stat(directory).st_mode & 0o777 == 0o700
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.connect(f"{directory}/socket")
            try:
                connection.sendall(b'{"kind": "left", "raised": [["Forged", "by a stranger"]]}')
                answers.append(connection.recv(100))
            except OSError:
                answers.append(b"")
        gate.write_text("go on")

    stranger = threading.Thread(target=intrude)
    stranger.start()
    with TreePool(TargetSpec("program:call", directory=str(tmp_path))) as pool:
        pool.run([Run(limit=30.0)], seen.append)
    stranger.join()
    assert answers == [b""]
    assert (seen[0].refused, seen[0].raised, seen[0].returned) == (1, (), True)
    assert [p.role for p in seen[0].processes] == ["caller", "process[0]"]


def test_nothing_is_left_of_the_directory_that_only_this_user_can_open(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("def call(): pass\n")
    with TreePool(TargetSpec("program:call", directory=str(tmp_path))) as pool:
        directory = Path(pool.directory)
        pool.run([Run(limit=30.0)], lambda seen: None)
        assert directory.stat().st_mode & 0o777 == 0o700
    assert not directory.exists()


def test_a_long_temporary_directory_is_no_place_for_sockets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "program.py").write_text("def call(): pass\n")
    long = tmp_path / ("long" * 30)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    seen: list[TreeObservation] = []
    with TreePool(TargetSpec("program:call", directory=str(tmp_path))) as pool:
        pool.run([Run(limit=30.0)], seen.append)
    assert seen[0].returned
    assert list(long.iterdir()) == []
