"""The collector is put back as it was: what the caller had frozen stays frozen, and nothing else is."""

from __future__ import annotations

from tests.ownership._child import output

SETTING = """
import gc, types, weakref
from engine._gc_state import GcState

class Node:
    pass

def cycle():
    node = Node()
    node.self = node
    return weakref.ref(node)
"""


def test_what_the_construction_froze_is_not_frozen_any_more_and_its_garbage_is_collected() -> None:
    lines = output(
        SETTING
        + """
state = GcState()
garbage = cycle()
state.before_freeze()
gc.freeze()
state.before_unfreeze()
state.restore()
# CPython 3.12 starts with some frozen: the rest of what is left is what looking at them takes.
print(0 <= gc.get_freeze_count() - state.frozen < 50)
gc.collect()
print(garbage() is None)
"""
    )
    assert lines == ["True", "True"]


def test_the_caller_s_freeze_is_kept_and_what_the_construction_made_is_collected() -> None:
    lines = output(
        SETTING
        + """
callers = cycle()
gc.freeze()
count = gc.get_freeze_count()
own = [cycle() for _ in range(100)]
state = GcState()
garbage = [cycle() for _ in range(100)]
state.before_freeze()
gc.freeze()
later = [cycle() for _ in range(100)]
state.before_unfreeze()
gc.unfreeze()  # as the end of a worker of vLLM's does
state.restore()
print(0 <= gc.get_freeze_count() - count < 50, count > 1000)
gc.collect()
print(callers() is not None)
print(sum(one() is None for one in own + garbage + later))
"""
    )
    assert lines == ["True True", "True", "300"]


def test_a_freeze_that_nobody_touched_is_left_as_it_is() -> None:
    lines = output(
        SETTING
        + """
gc.freeze()
count = gc.get_freeze_count()
state = GcState()
state.before_unfreeze()
state.restore()
print(gc.get_freeze_count() == count)
"""
    )
    assert lines == ["True"]


def test_callbacks_of_vllm_go_and_every_other_stays() -> None:
    lines = output(
        SETTING
        + """
def before(phase, info): pass
def others(phase, info): pass
def vllms(phase, info): pass
def also_vllms(phase, info): pass
vllms.__module__ = "vllm.utils.gc_utils"
also_vllms.__module__ = "vllm.somewhere"
gc.callbacks.append(also_vllms)
gc.callbacks.append(before)
state = GcState()
gc.callbacks.append(others)
gc.callbacks.append(vllms)
state.restore()
print([one.__name__ for one in gc.callbacks])
"""
    )
    assert lines == ["['also_vllms', 'before', 'others']"]


def test_switch_and_thresholds_are_put_back() -> None:
    lines = output(
        SETTING
        + """
for first, then in ((gc.enable, gc.disable), (gc.disable, gc.enable)):
    first()
    gc.set_threshold(701, 11, 12)
    was = gc.isenabled(), gc.get_threshold()
    state = GcState()
    then()
    gc.set_threshold(5, 5, 5)
    state.restore()
    print((gc.isenabled(), gc.get_threshold()) == was)
    state.restore()
    print((gc.isenabled(), gc.get_threshold()) == was)
"""
    )
    assert lines == ["True"] * 4


def test_an_object_that_will_not_say_what_it_is_is_passed_over_in_silence() -> None:
    lines = output(
        SETTING
        + """
class Shy(list):
    @property
    def __class__(self):
        raise RuntimeError("asked")

before = [[] for _ in range(1000)]
gc.freeze()
state = GcState()
shy = Shy()
state.before_freeze()
gc.freeze()
state.before_unfreeze()
gc.unfreeze()
state.restore()
print(gc.is_tracked(shy), gc.get_freeze_count() >= 1000)
"""
    )
    assert lines == ["True True"]


def test_what_was_listed_meanwhile_is_let_go_without_a_collection() -> None:
    lines = output(
        SETTING
        + """
gc.freeze()
gc.disable()
state = GcState()
node = Node()
seen = weakref.ref(node)
state.before_unfreeze()
gc.unfreeze()
state.restore()
del node
print(seen() is None)
"""
    )
    assert lines == ["True"]
