from __future__ import annotations

import gc
import weakref

import pytest

from faultinject.facts import Item
from faultinject.probes import ProbeSet, diff, load_probes


class Sample:
    """A probe that sees what it is told to."""

    fork_visible = True
    private = True

    def __init__(self, name="sample", nature="resource", cost="cheap", sees=None, reason=None):
        self.name, self.nature, self.cost = name, nature, cost
        self.sees, self.reason = sees or {}, reason

    def unavailable(self):
        return self.reason

    def snapshot(self):
        if isinstance(self.sees, BaseException):
            raise self.sees
        return dict(self.sees)


def test_costly_probes_and_state_are_left_out_where_not_wanted():
    probes = ProbeSet([Sample("a"), Sample("b", cost="costly"), Sample("c", nature="state")])
    assert list(probes.snapshot()) == ["a", "c"]
    assert list(probes.snapshot("all")) == ["a", "b", "c"]
    assert list(probes.snapshot(resources_only=True)) == ["a"]
    assert list(probes.snapshot("all", resources_only=True)) == ["a", "b"]


def test_a_probe_that_cannot_look_here_says_why():
    probes = ProbeSet([Sample("a", reason="no GPU"), Sample("b")])
    assert probes.unavailable == {"a": "no GPU"}
    assert list(probes.snapshot()) == ["b"]


def test_a_probe_that_fails_is_named_and_not_asked_again():
    failing = Sample("a", sees=ValueError("out of order"))
    probes = ProbeSet([failing, Sample("b")])
    first = probes.snapshot()
    assert first.errors == {"a": "ValueError: out of order"}
    assert list(first) == ["b"]
    failing.sees = {}
    second = probes.snapshot("all")
    assert list(second) == ["b"]
    assert second.errors == probes.errors == {"a": "ValueError: out of order"}


def test_a_probe_that_fails_keeps_nothing_of_the_target_alive():
    class Thing:
        pass

    thing = Thing()
    reference = weakref.ref(thing)
    error = ValueError("about a thing")
    error.thing = thing
    probes = ProbeSet([Sample("a", sees=error)])
    probes.snapshot()
    probes_alive = probes.errors
    del thing, error, probes
    gc.collect()
    assert probes_alive
    assert reference() is None


def test_an_interrupt_in_a_probe_passes():
    with pytest.raises(KeyboardInterrupt):
        ProbeSet([Sample("a", sees=KeyboardInterrupt())]).snapshot()


def test_a_diff_tells_what_came_and_what_went():
    old, new_ = Item("old"), Item("new")
    before = {"a": {"1": old, "2": old}, "only before": {"x": old}}
    after = {"a": {"2": old, "3": new_}, "only after": {"y": new_}}
    assert diff(before, after) == ([("a", "3", new_)], [("a", "1", old)])


def test_bytes_that_grew_came_and_bytes_that_shrank_are_no_loss():
    def block(size):
        return {"a": {"1": Item("block", amount=size, unit="bytes")}}

    ((_, _, more),), gone = diff(block(100), block(130))
    assert (more.amount, gone) == (30, [])
    assert diff(block(130), block(100)) == ([], [])


def test_all_probes_together_see_nothing_come_or_go_in_an_idle_process():
    probes = ProbeSet(load_probes(without=["shared memory", "semaphores", "temporary files", "locks"]))
    probes.snapshot("all")
    first, second = probes.snapshot("all", resources_only=True), probes.snapshot("all", resources_only=True)
    assert not first.errors
    assert diff(first, second) == ([], [])
