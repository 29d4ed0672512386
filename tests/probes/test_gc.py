from __future__ import annotations

import gc

import pytest

from faultinject.facts import Item
from faultinject.probes import state_changed
from faultinject.probes._gc import GarbageCollector


@pytest.fixture
def changed():
    """The keys that count as changed since the fixture was made."""
    probe = GarbageCollector()
    before = probe.snapshot()
    return lambda: [
        key for key, item in probe.snapshot().items() if state_changed("gc", key, before[key], item)
    ]


def test_a_disabled_collector_is_seen_until_it_is_enabled(changed):
    gc.disable()
    seen = changed()
    gc.enable()
    assert seen == ["enabled"]
    assert not changed()


def test_other_thresholds_are_seen_until_they_are_set_back(changed):
    old = gc.get_threshold()
    gc.set_threshold(old[0] + 1, *old[1:])
    seen = changed()
    gc.set_threshold(*old)
    assert seen == ["thresholds"]
    assert not changed()


def test_a_callback_is_seen_until_it_is_removed(changed):
    def callback(phase, info):
        pass

    gc.callbacks.append(callback)
    seen = changed()
    gc.callbacks.remove(callback)
    assert seen == ["callbacks"]
    assert not changed()


def test_a_freeze_is_seen_until_it_is_undone(changed, in_fork):
    def there():
        gc.freeze()
        frozen = changed()
        gc.unfreeze()
        return [frozen, changed()]

    # In a fork, because an unfreeze would undo a freeze of pytest's too.
    assert in_fork(there) == [["freeze_count"], []]


@pytest.mark.parametrize(
    ("before", "after", "answer"),
    [
        ("0", "5000", True),
        ("5000", "4990", False),
        ("5000", "5000", False),
        ("5000", "0", True),
        ("3", "0", False),
    ],
)
def test_frozen_objects_may_die_but_somebody_elses_freeze_may_not_be_undone(before, after, answer):
    items = [Item("frozen objects", value=value) for value in (before, after)]
    assert state_changed("gc", "freeze_count", *items) is answer
