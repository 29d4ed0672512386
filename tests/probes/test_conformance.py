from __future__ import annotations

import itertools
import os
import sys

import pytest

from faultinject.facts import Item
from faultinject.probes import check_probe


class Good:
    """A probe that keeps its promises; each test spoils one."""

    name = "good"
    nature = "resource"
    cost = "cheap"
    fork_visible = True
    private = True

    def unavailable(self):
        return None

    def snapshot(self):
        return {"one": Item("the one", group="one")}


def _spoiled(**attributes):
    return type("Spoiled", (Good,), attributes)()


def _leaks(self):
    _left.append(os.dup(0))
    return {}


def _imports(self):
    sys.modules[f"sample_{len(sys.modules)}"] = sys
    return {}


_count = itertools.count()
_left: list[int] = []


def test_a_good_probe_passes():
    check_probe(Good())


def test_a_probe_that_cannot_look_here_is_not_asked():
    check_probe(_spoiled(unavailable=lambda self: "no GPU", snapshot=lambda self: 1 / 0))


@pytest.mark.parametrize(
    ("spoiled", "complaint"),
    [
        ({"name": None}, "name is missing"),
        ({"nature": "thing"}, "nature is 'thing', not one of resource, state"),
        ({"private": "yes"}, "private is 'yes', not bool"),
        ({"snapshot": None}, "snapshot is not callable"),
        ({"unavailable": lambda self: 3}, "must say why in words"),
        ({"snapshot": lambda self: []}, "returned list, not a mapping"),
        ({"snapshot": lambda self: {"one": 1}}, "'one' is int, not Item"),
        ({"snapshot": lambda self: {1: Item("one", group="one")}}, "key 1 is not text"),
        ({"snapshot": lambda self: {"one": Item("one")}}, "lacks a label or a group"),
        (
            {"snapshot": lambda self: {"one": Item("one", value="x", group="one")}},
            "of a resource has a value",
        ),
        ({"snapshot": lambda self: {"one": Item("one", unit="MB", group="one")}}, "neither '' nor 'bytes'"),
        ({"snapshot": lambda self: {str(next(_count)): Item("one", group="one")}}, "two snapshots"),
        (
            {
                "nature": "state",
                "snapshot": lambda self: {"one": Item("one", value=str(next(_count)), group="one")},
            },
            "two snapshots",
        ),
    ],
)
def test_a_broken_promise_is_named(spoiled, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_probe(_spoiled(**spoiled))


def test_a_descriptor_left_behind_is_named():
    with pytest.raises(AssertionError, match="descriptors were"):
        check_probe(_spoiled(snapshot=_leaks))
    while _left:
        os.close(_left.pop())


def test_an_import_is_named():
    with pytest.raises(AssertionError, match="snapshot\\(\\) imported sample_"):
        check_probe(_spoiled(snapshot=_imports))
    for name in [name for name in sys.modules if name.startswith("sample_")]:
        del sys.modules[name]
