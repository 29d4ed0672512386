"""Whoever dies, and however: what it started ends, and nothing else does."""

from __future__ import annotations

import signal

import pytest

from tests.lifeline._tree import Tree, all_end, tree

METHODS = ["fork", "spawn", "forkserver"]


@pytest.mark.parametrize("method", METHODS)
def test_a_child_ends_when_its_parent_is_killed(trees: Tree, method: str, watching: str) -> None:
    trees.run("parent", method)
    parent, child = trees.wait("parent", "child")
    parent.kill()
    assert all_end([child])


@pytest.mark.parametrize("method", METHODS)
def test_without_a_lifeline_it_lives_on(trees: Tree, method: str) -> None:
    trees.run("parent", method, "sleeping", "bare")
    parent, child = trees.wait("parent", "child")
    parent.kill()
    assert parent.ends_within(2)
    assert not child.ends_within(0.5)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP, signal.SIGABRT, signal.SIGUSR1])
def test_it_ends_by_whatever_its_parent_does(trees: Tree, how: signal.Signals) -> None:
    # SIGUSR1 makes this parent leave by `os._exit`, which runs no clean-up.
    trees.run("parent", "fork", "deaf", "exits")
    parent, child = trees.wait("parent", "child")
    parent.kill(how)
    assert all_end([parent, child])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_two_generations_end_when_the_first_is_killed(trees: Tree, method: str, watching: str) -> None:
    trees.run("caller", method)
    caller, engine, *workers = trees.wait("caller", "engine", "worker0", "worker1")
    caller.kill()
    assert all_end([engine, *workers])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_the_workers_end_when_the_engine_is_killed_and_the_caller_lives(
    trees: Tree, method: str, watching: str
) -> None:
    trees.run("caller", method)
    caller, engine, *workers = trees.wait("caller", "engine", "worker0", "worker1")
    engine.kill()
    assert all_end(workers)
    trees.until_unguarded(engine, *workers)
    assert caller.lives


def test_a_child_by_spawn_gives_its_own_children_lifelines_too(trees: Tree, watching: str) -> None:
    # By fork: one by spawn would be found by the mark in its environment.
    trees.run("caller", "spawn", "fork")
    _, engine, *workers = trees.wait("caller", "engine", "worker0", "worker1")
    engine.kill()
    assert all_end(workers)


def test_a_worker_that_is_killed_takes_neither_its_sibling_nor_the_engine_with_it(trees: Tree) -> None:
    trees.run("caller", "fork")
    caller, engine, first, second = trees.wait("caller", "engine", "worker0", "worker1")
    first.kill()
    trees.until_unguarded(first)
    assert caller.lives
    assert engine.lives
    assert second.lives


def test_a_parent_that_is_stopped_is_not_dead(trees: Tree, watching: str) -> None:
    trees.run("caller", "fork")
    caller, engine, first, second = trees.wait("caller", "engine", "worker0", "worker1")
    engine.kill(signal.SIGSTOP)
    first.kill()
    trees.until_unguarded(first)
    assert second.lives
    # Stopped, it cannot end what is below it, nor can it be asked to.
    caller.kill()
    assert all_end([engine, second])


def test_a_child_started_by_hand_ends_when_it_was_registered(trees: Tree, watching: str) -> None:
    trees.run("registering")
    parent, child = trees.wait("parent", "stranger")
    parent.kill()
    assert all_end([child])


def test_one_that_was_not_lives_on(trees: Tree) -> None:
    trees.run("not_registering")
    parent, child = trees.wait("parent", "stranger")
    parent.kill()
    assert parent.ends_within(2)
    assert not child.ends_within(0.5)


def test_a_child_whose_parent_was_dead_before_it_looked_ends(trees: Tree) -> None:
    trees.run("late", "arms")
    parent, child = trees.wait("parent", "late")
    parent.kill()
    assert all_end([child])
    trees.hear_the_rest()
    assert "late" not in trees.said


def test_it_does_so_in_a_call_that_holds_the_interpreters_lock(trees: Tree) -> None:
    trees.run("late", "locked")
    parent, child = trees.wait("parent", "late")
    parent.kill()
    assert all_end([child])


def test_one_that_never_looks_lives_on(trees: Tree) -> None:
    trees.run("late", "never")
    parent, child = trees.wait("parent", "late")
    parent.kill()
    assert trees.heard("late") == "alive"
    assert not child.ends_within(0.5)


def test_a_pid_that_is_somebody_elses_by_now_is_not_mistaken(trees: Tree, watching: str) -> None:
    trees.run("registering_another")
    parent, other = trees.wait("parent", "stranger")
    assert other.pid not in trees.guarded()
    parent.kill()
    trees.until_unguarded(parent)
    assert other.lives


def test_a_child_from_a_thread_that_has_ended_lives_on_and_dies_with_the_process(trees: Tree) -> None:
    trees.run("launching_thread", "lifeline")
    parent, child = trees.wait("parent", "child")
    assert {parent.pid, child.pid} <= trees.guarded()
    assert child.lives
    parent.kill()
    assert all_end([child])


def test_by_the_parent_death_signal_it_dies_with_the_thread(trees: Tree) -> None:
    trees.run("launching_thread", "signal")
    parent, child = trees.wait("parent", "child")
    assert all_end([child])
    assert parent.lives


def test_two_trees_side_by_side_do_not_disturb_each_other(trees: Tree) -> None:
    with tree() as others:
        for one in (trees, others):
            one.run("parent", "fork")
        parent, child = trees.wait("parent", "child")
        other_parent, other_child = others.wait("parent", "child")
        assert trees.guardian().pid != others.guardian().pid
        parent.kill()
        assert all_end([child])
        trees.until_unguarded(parent, child)
        assert {other_parent.pid, other_child.pid} <= others.guarded()
        assert other_parent.lives
        assert other_child.lives
