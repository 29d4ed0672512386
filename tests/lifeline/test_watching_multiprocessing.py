"""What is put in the place of multiprocessing's functions, and taken away again."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from multiprocessing import process, spawn
from pathlib import Path
from typing import Any

import pytest

from engine.lifeline import unwatch_multiprocessing, watch_multiprocessing
from tests.lifeline._tree import ROOT


def functions() -> tuple[Any, ...]:
    base: Any = process.BaseProcess
    return base.start, base._bootstrap, spawn.get_preparation_data


@pytest.fixture(autouse=True)
def off_again() -> Iterator[None]:
    yield
    unwatch_multiprocessing()


def test_it_can_be_taken_back_however_often_it_was_asked_for() -> None:
    before = functions()
    assert watch_multiprocessing()
    during = functions()
    assert all(one is not other for one, other in zip(before, during, strict=True))
    assert not watch_multiprocessing(grace=1.0)
    assert functions() == during
    unwatch_multiprocessing()
    assert functions() == before
    unwatch_multiprocessing()
    assert functions() == before


def test_several_threads_put_it_there_once() -> None:
    before = functions()
    ready = threading.Barrier(8)

    def ask() -> None:
        ready.wait()
        watch_multiprocessing()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    unwatch_multiprocessing()
    assert functions() == before


def test_what_another_has_wrapped_in_turn_stays_and_works() -> None:
    base: Any = process.BaseProcess
    original = base.start
    watch_multiprocessing()
    ours = process.BaseProcess.start
    calls = []

    def theirs(self: process.BaseProcess) -> None:
        calls.append(self.name)
        ours(self)

    base.start = theirs
    try:
        unwatch_multiprocessing()
        assert base.start is theirs
        child = multiprocessing.get_context("fork").Process(target=int)
        child.start()
        child.join()
        assert child.exitcode == 0
        assert calls == [child.name]
    finally:
        base.start = original


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_pools_and_results_are_what_they_are_without_it(method: str) -> None:
    # In a process of its own: the fork server would outlive the test.
    script = (
        "import multiprocessing, operator, sys\n"
        "from engine.lifeline import watch_multiprocessing\n"
        "if __name__ == '__main__':\n"
        "    watch_multiprocessing()\n"
        "    context = multiprocessing.get_context(sys.argv[1])\n"
        "    with context.Pool(2, maxtasksperchild=1) as pool:\n"
        "        print(pool.map(operator.neg, range(5)))\n"
        "    child = context.Process(target=sys.exit, args=(7,))\n"
        "    child.start(); child.join(); print(child.exitcode)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", script, method],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert said.stdout.splitlines() == ["[0, -1, -2, -3, -4]", "7"]
    assert said.stderr == ""


@pytest.mark.parametrize("found", [True, False])
def test_a_child_finds_the_package_where_its_parent_does_and_starts_all_the_same_if_not(
    tmp_path: Path, found: bool
) -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import multiprocessing\n"
        "from engine.lifeline import watch_multiprocessing\n"
        "watch_multiprocessing()\n"
        "if not int(sys.argv[2]): sys.path.remove(sys.argv[1])\n"
        "child = multiprocessing.get_context('spawn').Process(target=sys.exit, args=(7,))\n"
        "child.start(); child.join(); print(child.exitcode)\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    said = subprocess.run(
        [sys.executable, "-S", "-c", script, str(ROOT), str(int(found))],
        cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60, env=environment,
    )  # fmt: skip
    assert said.stdout.strip() == "7"
    assert ("may outlive its parent" in said.stderr) == (not found)
