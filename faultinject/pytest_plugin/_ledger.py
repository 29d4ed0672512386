"""The fixture `resource_ledger`: nothing that a block brought to life may outlive it."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase

import pytest

from faultinject.facts import Item
from faultinject.probes import ProbeSet, Snapshot, load_probes
from faultinject.probes import diff as difference
from faultinject.probes._compare import state_changed
from faultinject.tracking._claims import SHARED_PROBES, is_ours, path_of

_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05

Found = dict[tuple[str, str], str]
"""(probe, key) of what is not as before -> what a person reads."""


class ResourceLedger:
    """Looks through the probes before a block and after it.

    What threads and processes still end by themselves in `settle` seconds is waited for; what only a
    collection of the heap gives back is left, unless ``collect=True``.
    """

    @contextmanager
    def __call__(
        self,
        *,
        settle: float = 0.5,
        collect: bool = False,
        probes: Sequence[str] = (),
        without: Sequence[str] = (),
        ignore: Sequence[str] = (),
    ) -> Iterator[None]:
        """Fail the test if the block leaves anything; also where an exception passes, which then is kept.

        Args:
            settle: seconds that threads and processes have to end.
            collect: collect the heap before looking, so that what only finalizers gave back does not count.
            probes, without: probes to look through, or to leave out; all where empty.
            ignore: globs ``probe:key`` of what does not count.

        Raises:
            UsageError: no probe has that name.
        """
        look = ProbeSet(load_probes(list(probes) or None, list(without)))
        gc.collect()  # what others left to finalizers goes before the block, not within it
        before = look.snapshot("all")
        try:
            yield
        except BaseException as error:
            # Its frames hold what the block had in its variables.
            if left := _settled(look, before, settle, collect, ignore):
                error.add_note(_words(left))
            raise
        if left := _settled(look, before, settle, collect, ignore):
            pytest.fail(_words(left), pytrace=False)


def _settled(
    look: ProbeSet, before: Snapshot, settle: float, collect: bool, ignore: Sequence[str]
) -> Found:
    if collect:
        gc.collect()
    until = time.monotonic() + settle
    pause = _FIRST_PAUSE
    while True:
        left = _left(look, before, ignore)
        if not left or time.monotonic() >= until:
            return left
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _left(look: ProbeSet, before: Snapshot, ignore: Sequence[str]) -> Found:
    after = look.snapshot("all")
    states = {probe.name for probe in look.probes if probe.nature == "state"}
    added, _ = difference(_resources(before, states), _resources(after, states))
    found = {
        (probe, key): f"{item.label} ({probe})"
        for probe, key, item in added
        # Names that all processes of the machine see: others make some at the same time.
        if probe not in SHARED_PROBES or is_ours(path_of(probe, key))
    }
    for probe in states & before.keys() & after.keys():
        was, now = before[probe], after[probe]
        for key in was.keys() | now.keys():
            if state_changed(probe, key, was.get(key), now.get(key)):
                found[probe, key] = f"{_label(was, now, key)}: {_value(was, key)} before, {_value(now, key)} after"
    return {
        (probe, key): text
        for (probe, key), text in found.items()
        if not any(fnmatchcase(f"{probe}:{key}", glob) for glob in ignore)
    }


def _resources(taken: Snapshot, states: set[str]) -> Snapshot:
    kept = Snapshot(taken.errors)
    kept.update({name: items for name, items in taken.items() if name not in states})
    return kept


def _label(was: object, now: object, key: str) -> str:
    for items in (now, was):
        item = items.get(key) if isinstance(items, dict) else None
        if isinstance(item, Item) and item.label:
            return item.label
    return key


def _value(items: object, key: str) -> str:
    item = items.get(key) if isinstance(items, dict) else None
    return (item.value if isinstance(item, Item) else "") or "(absent)"


def _words(left: Found) -> str:
    what = "\n".join(f"  {text}" for text in sorted(left.values()))
    return f"the block left behind:\n{what}"
