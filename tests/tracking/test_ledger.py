from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping

import pytest

from faultinject.facts import Item
from faultinject.probes import ProbeSet
from faultinject.tracking import Ledger, Path, charged
from tests.tracking import _sample
from tests.tracking._follow import record

TARGET: Path = ((1, "m:target"),)
INNER: Path = ((1, "m:target"), (2, "m:inner"))
OTHER: Path = ((1, "m:target"), (3, "m:inner"))
DEEP: Path = ((1, "m:target"), (2, "m:inner"), (4, "m:deep"))


class Shelf:
    """A probe that sees what a test puts on it."""

    cost = "cheap"
    fork_visible = True

    def __init__(self, name: str = "things", nature: str = "resource", *, private: bool = True) -> None:
        self.name = name
        self.nature = nature
        self.private = private
        self.items: dict[str, Item] = {}

    def put(self, key: str, value: str = "") -> None:
        self.items = {**self.items, key: Item(f"thing {key}", value=value, group="thing")}

    def take(self, key: str) -> None:
        self.items = {k: v for k, v in self.items.items() if k != key}

    def unavailable(self) -> None:
        return None

    def snapshot(self) -> Mapping[str, Item]:
        return self.items


def ledger_of(*shelves: Shelf) -> Ledger:
    probes = ProbeSet(shelves)  # type: ignore[arg-type]
    return Ledger(probes, probes.snapshot("all"))


def look(ledger: Ledger, path: Path, step: int = 1) -> list[str]:
    return [entry.key for entry in ledger.look(lambda: path, step)]


@pytest.mark.parametrize(
    ("acquired", "fault", "frame", "nested"),
    [
        (TARGET, TARGET, "m:target", False),
        (INNER, TARGET, "m:target", False),
        (INNER, INNER, "m:inner", True),
        (INNER, OTHER, "m:target", False),
        (DEEP, INNER, "m:inner", True),
        (INNER, DEEP, "m:inner", True),
        (DEEP, OTHER, "m:target", False),
        ((), DEEP, "m:target", False),
        ((), (), "", False),
    ],
    ids=[
        "the target made it",
        "a callee that returned made it",
        "the callee in which the fault came made it",
        "an earlier call of the same callee made it",
        "a callee of the callee that is still running made it",
        "the callee made it and called on",
        "all but the target have returned",
        "nobody knows who made it",
        "there was no target",
    ],
)
def test_the_innermost_frame_that_had_received_it_answers(
    acquired: Path, fault: Path, frame: str, nested: bool
) -> None:
    assert charged(acquired, fault) == (frame, nested)


@pytest.mark.parametrize(
    ("own", "nested"), [(0, True), (1, True), (2, False), (3, False)],
    ids=["unknown", "the target's one frame", "both", "the one in which it came too"],
)  # fmt: skip
def test_what_is_charged_to_an_own_frame_is_not_nested(own: int, nested: bool) -> None:
    assert charged(DEEP, INNER, own) == ("m:inner", nested)


def test_what_is_charged_beneath_the_own_frames_is_nested() -> None:
    assert charged(DEEP, DEEP, 2)[1]
    assert not charged(DEEP, DEEP, 3)[1]


def test_what_comes_is_entered_with_stack_and_step_and_what_goes_is_struck_off() -> None:
    shelf = Shelf()
    shelf.put("old")
    ledger = ledger_of(shelf)
    shelf.put("new")
    assert look(ledger, INNER, 3) == ["new"]
    entry = ledger.live["things", "new"]
    assert (entry.path, entry.step, entry.is_state) == (INNER, 3, False)
    shelf.take("new")
    assert look(ledger, TARGET) == []
    assert ledger.live == {}
    assert ledger.ended == [(("things", "new"), 1, "m:target")]


def test_what_was_there_before_is_never_the_targets() -> None:
    shelf = Shelf()
    shelf.put("old")
    ledger = ledger_of(shelf)
    shelf.take("old")
    assert look(ledger, INNER) == []
    assert (ledger.live, list(ledger.vanished)) == ({}, [("things", "old")])
    shelf.put("old")
    assert look(ledger, INNER) == []
    assert (ledger.live, ledger.vanished) == ({}, {})


def test_what_goes_in_one_look_goes_at_one_time_and_later_looks_are_later() -> None:
    shelf = Shelf()
    ledger = ledger_of(shelf)
    for key in "abc":
        shelf.put(key)
    look(ledger, TARGET)
    shelf.take("a")
    shelf.take("b")
    look(ledger, TARGET)
    shelf.take("c")
    look(ledger, TARGET)
    sequences = {key[1]: sequence for key, sequence, _ in ledger.ended}
    assert sequences["a"] == sequences["b"] < sequences["c"]


def test_changed_state_is_an_entry_until_it_is_as_before() -> None:
    shelf = Shelf("settings", "state")
    shelf.put("level", "1")
    ledger = ledger_of(shelf)
    shelf.put("level", "2")
    look(ledger, INNER, 2)
    entry = ledger.live["settings", "level"]
    assert entry.before is not None
    assert (entry.before.value, entry.item.value, entry.path, entry.is_state) == ("1", "2", INNER, True)
    shelf.put("level", "3")
    assert look(ledger, TARGET, 3) == []
    assert (entry.item.value, entry.path) == ("3", INNER)
    shelf.put("level", "1")
    look(ledger, TARGET)
    assert ledger.live == {}


def test_state_is_not_looked_at_between_calls_beneath_the_target() -> None:
    shelf = Shelf("settings", "state")
    shelf.put("level", "1")
    ledger = ledger_of(shelf)
    shelf.put("level", "2")
    ledger.look(lambda: INNER, 1, states=False)
    assert ledger.live == {}


def test_what_of_others_is_gone_after_a_removing_call_was_removed_by_it() -> None:
    names = Shelf("names", private=False)
    own = Shelf("own")
    for shelf in (names, own):
        shelf.put("somebody's")
    ledger = ledger_of(names, own)
    ledger.before_removing()
    for shelf in (names, own):
        shelf.take("somebody's")
    look(ledger, TARGET)
    ledger.look_for_removed("m:target")
    assert ledger.removed == {("names", "somebody's"): "m:target"}


def test_what_of_others_went_beside_a_call_whose_beginning_was_not_heard_was_not_removed_by_it() -> None:
    names = Shelf("names", private=False)
    names.put("somebody's")
    ledger = ledger_of(names)
    names.take("somebody's")
    ledger.look_for_removed("m:target")
    assert ledger.removed == {}


def test_what_of_others_went_before_a_removing_call_began_was_not_removed_by_it() -> None:
    names = Shelf("names", private=False)
    names.put("somebody's")
    ledger = ledger_of(names)
    names.take("somebody's")
    ledger.before_removing()
    ledger.look_for_removed("m:target")
    ledger.look_for_removed("m:target")
    assert ledger.removed == {}


def test_what_of_others_goes_beside_the_one_name_that_a_call_removes_was_not_removed_by_it() -> None:
    names = Shelf("names", private=False)
    names.put("somebody's")
    ledger = ledger_of(names)
    names.put("its own")
    look(ledger, TARGET)
    ledger.before_removing()
    names.take("its own")
    names.take("somebody's")
    ledger.look_for_removed("m:target")
    assert ledger.removed == {}


def test_a_name_of_others_that_a_name_of_its_own_is_moved_over_was_removed_by_the_call() -> None:
    names = Shelf("names", private=False)
    names.put("somebody's")
    ledger = ledger_of(names)
    names.put("its own")
    look(ledger, TARGET)
    ledger.before_removing()
    names.take("its own")
    names.take("somebody's")
    ledger.look_for_removed("m:target", moved=True)
    assert ledger.removed == {("names", "somebody's"): "m:target"}


def test_what_of_others_goes_while_another_thread_removes_something_is_no_doing_of_this_one() -> None:
    names = Shelf("names", private=False)
    names.put("somebody's")
    ledger = ledger_of(names)
    other = threading.Thread(target=ledger.before_removing)
    other.start()
    other.join()
    names.take("somebody's")
    ledger.look_for_removed("m:target")
    assert ledger.removed == {}


def test_what_comes_while_the_fault_is_on_its_way_is_marked() -> None:
    shelf = Shelf()
    ledger = ledger_of(shelf)
    ledger.after_fault = True
    shelf.put("means")
    look(ledger, TARGET)
    assert ledger.live["things", "means"].after_fault


# ---- with real descriptors, under a tracker ----


@contextlib.contextmanager
def opened() -> Iterator[list[int]]:
    numbers: list[int] = []
    yield numbers
    for number in numbers:
        os.close(number)


@pytest.mark.parametrize("level", ["steps", "sites", "nth"])
def test_each_descriptor_is_entered_in_the_step_that_brought_it(level) -> None:
    with opened() as numbers:
        _, tracker = record(lambda: numbers.extend(_sample.opens()), level, probes=("fds",))
        assert tracker.ledger is not None
        entries = sorted(tracker.ledger.live.values(), key=lambda entry: entry.order)
        assert len(entries) == 2
        # The lambda is the target here: both came while it called `opens`.
        assert {entry.step for entry in entries} == {1}


def test_the_stack_of_an_acquisition_is_that_of_the_call_that_made_it() -> None:
    results: list[tuple[int, ...]] = []

    def target() -> None:
        results.append(_sample.opens())

    with opened() as numbers:
        _, tracker = record(target, "sites", probes=("fds",))
        numbers.extend(results[0])
        assert tracker.ledger is not None
        entries = sorted(tracker.ledger.live.values(), key=lambda entry: entry.order)
        stacks = [[name.rpartition(":")[2].rpartition(".")[2] for _, name in entry.path] for entry in entries]
    assert stacks == [["target", "opens", "open"], ["target", "opens", "opens_one", "open"]]
