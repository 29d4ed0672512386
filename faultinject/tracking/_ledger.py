"""The ownership ledger: what came to life while the target ran, on which stack, and what went."""

from __future__ import annotations

import contextlib
from _thread import RLock, get_ident
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from faultinject.facts import Item
from faultinject.probes import ProbeSet, Snapshot
from faultinject.probes._compare import state_changed
from faultinject.tracking._claims import SHARED_PROBES, is_ours, path_of

Key = tuple[str, str]
Path = tuple[tuple[int, str], ...]
"""Activations on the stack, the target's frame first: (serial number, ``module:qualname``)."""


@dataclass
class Entry:
    """A resource, or a piece of changed state, that the target brought about."""

    probe: str
    key: str
    item: Item
    path: Path
    step: int
    order: int
    before: Item | None = None
    is_state: bool = False
    after_fault: bool = False
    """Whether it came to life only while the fault was on its way: a clean-up's own means."""


@dataclass
class Ledger:
    """Compares snapshots as the target runs and remembers on whose stack each difference appeared.

    Args:
        probes: the probes to look through.
        baseline: what there was before the target.
    """

    probes: ProbeSet
    baseline: Snapshot
    live: dict[Key, Entry] = field(default_factory=dict)
    ended: list[tuple[Key, int, str]] = field(default_factory=list)
    """(what, sequence, the innermost call in which it was seen to go)."""
    gone: list[tuple[Entry, int]] = field(default_factory=list)
    removed: dict[Key, str] = field(default_factory=dict)
    vanished: dict[Key, Item] = field(default_factory=dict)
    looks: int = 0
    after_fault: bool = False
    _order: int = 0

    def __post_init__(self) -> None:
        # A release may run in a thread that the clean-up starts, and both threads look.
        self._lock = RLock()
        self.next_sequence: Callable[[], int] = count(1).__next__
        self._last_resources: dict[str, Mapping[str, Item]] = {}
        self._states = {probe.name for probe in self.probes.probes if probe.nature == "state"}
        self._shared = [p for p in self.probes.probes if p.nature == "resource" and not p.private]
        self._standing: dict[int, set[Key]] = {}
        for name, items in self.baseline.items():
            if name not in self._states:
                self._last_resources[name] = items

    def look(
        self,
        path: Callable[[], Path],
        step: int,
        *,
        states: bool = True,
        cost: Literal["cheap", "all"] = "cheap",
    ) -> list[Entry]:
        """Take a snapshot; charge what is new to `path` and note what is gone. Any thread may.

        Returns:
            What is new since the last look.
        """
        with self._lock:
            return self._look(path, step, states, cost)

    def _look(
        self, path: Callable[[], Path], step: int, states: bool, cost: Literal["cheap", "all"]
    ) -> list[Entry]:
        self.looks += 1
        snapshot = self.probes.snapshot(cost, resources_only=not states)
        where: Path | None = None
        fresh: list[Entry] = []
        sequence = 0
        for name, items in snapshot.items():
            if name in self._states:
                for entry in self._look_at_state(name, items, path):
                    where = path() if where is None else where
                    entry.path, entry.step = where, step
                    fresh.append(entry)
                continue
            last = self._last_resources.get(name)
            if last is not None and (last is items or last.keys() == items.keys()):
                continue
            before = self.baseline.get(name, {})
            for key in items.keys() - (last or {}).keys():
                if key in before:
                    self.vanished.pop((name, key), None)
                    continue
                if name in SHARED_PROBES and not is_ours(path_of(name, key)):
                    continue
                where = path() if where is None else where
                self._order += 1
                same = self._descriptor_of(key) if name == "sockets" else None
                came = same.path if same is not None else where
                entry = Entry(name, key, items[key], came, step, self._order, after_fault=self.after_fault)
                self.live[(name, key)] = entry
                fresh.append(entry)
            for key in (last or {}).keys() - items.keys():
                known = self.live.pop((name, key), None)
                if known is not None:
                    sequence = sequence or self.next_sequence()
                    where = path() if where is None else where
                    self.ended.append(((name, key), sequence, where[-1][1] if where else ""))
                    self.gone.append((known, sequence))
                elif key in before:
                    self.vanished[(name, key)] = before[key]
            self._last_resources[name] = items
        return fresh

    def _descriptor_of(self, socket: str) -> Entry | None:
        """The descriptor of a socket that only a costly look shows: it was seen the moment it came."""
        for (probe, key), entry in self.live.items():
            if probe == "fds" and key.partition(":")[2] == socket:
                return entry
        return None

    def before_removing(self) -> None:
        """Called right before a call that can remove a name, last of all: what stands now.

        Other programs (and other cases of the same sweep) remove their own names at the same time; only what
        goes between here and the same thread's `look_for_removed` can be the call's doing.
        """
        with self._lock:
            self._standing[get_ident()] = self._names()

    def look_for_removed(self, by: str, *, moved: bool = False) -> None:
        """Called right after a call that can remove a name: the one that is gone now, it removed.

        Such a call removes one name; one that moves a name can remove another where it moves it to. What is
        gone of others' beside that went by their own hand. Nothing is charged to a call whose beginning was
        not heard.

        Args:
            by: the frame that made the call.
            moved: the call gave a name of its own another name.
        """
        with self._lock:
            standing = self._standing.pop(get_ident(), None)
            gone = standing - self._names() if standing else set()
            others = [key for key in gone if key[1] in self.baseline.get(key[0], {})]
            if len(others) == 1 and len(gone) <= 1 + moved:
                self.removed.setdefault(others[0], by)

    def _names(self) -> set[Key]:
        found: set[Key] = set()
        for probe in self._shared:
            with contextlib.suppress(Exception):
                found.update((probe.name, key) for key in probe.snapshot())
        return found

    def _look_at_state(self, name: str, items: Mapping[str, Item], path: Callable[[], Path]) -> list[Entry]:
        before = self.baseline.get(name, {})
        fresh: list[Entry] = []
        changed = {key for probe, key in self.live if probe == name} if self.live else set()
        if not changed and items == before:
            return []
        for key in before.keys() | items.keys() | changed:
            old, new = before.get(key), items.get(key)
            place = (name, key)
            if state_changed(name, key, old, new):
                known = self.live.get(place)
                if known is None:
                    self._order += 1
                    entry = Entry(name, key, new or Item(label=key), (), 0, self._order, old, True)
                    self.live[place] = entry
                    fresh.append(entry)
                else:
                    known.item = new or Item(label=key)
            elif self.live.pop(place, None) is not None:
                where = path()
                self.ended.append((place, self.next_sequence(), where[-1][1] if where else ""))
        return fresh


def charged(entry_path: Path, fault_path: Path, own: int = 1) -> tuple[str, bool]:
    """The innermost frame that had received a resource when a fault passed, and whether it is nested.

    A frame has received what came to life within a call it made that has returned: so it is the
    deepest activation that is on both stacks.

    Args:
        own: how many frames of `fault_path`, from its beginning, are the target's own; what is charged to
            one beneath them is nested.
    """
    name, depth = (fault_path[0][1] if fault_path else ""), 0
    for index, (mine, theirs) in enumerate(zip(entry_path, fault_path, strict=False)):
        if mine[0] != theirs[0]:
            break
        name, depth = mine[1], index
    return name, depth >= max(own, 1)
