"""A ledger for one block of code: nothing that it brought to life may outlive it.

For any test, in the test's own process. It says what is left and not whose fault it is; for that, and for
what is left when something fails, sweep the constructor.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Self

from faultinject.facts import Item
from faultinject.probes import ProbeSet, Snapshot, diff, load_probes
from faultinject.probes._compare import state_changed
from faultinject.tracking._claims import SHARED_PROBES, is_ours, path_of

_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05
_NAMED = 3
"""Things that the first line of the message names."""


class LeftBehind(AssertionError):
    """A block left something behind.

    Attributes:
        left: what, a line each.
    """

    def __init__(self, left: Sequence[str]) -> None:
        super().__init__(_words(left))
        self.left = tuple(left)


class resource_ledger:
    """``with resource_ledger():`` raises `LeftBehind` if the block leaves anything.

    Where an exception comes out of the block, that goes on, and what was left is a note of it. While the
    block
    runs, temporary files go to a directory of their own: those of others come and go.

    Args:
        settle: seconds in which threads and processes may still end.
        collect: collect the heap before looking, so that what only finalizers gave back does not count.
        probes, without: names of the probes to look through, or to leave out; all where empty.
        ignore: globs ``probe:key`` of what does not count.

    Attributes:
        left: after the block, what it left, a line each.

    Raises:
        UsageError: no probe has that name.
    """

    def __init__(
        self,
        *,
        settle: float = 0.5,
        collect: bool = False,
        probes: Sequence[str] = (),
        without: Sequence[str] = (),
        ignore: Sequence[str] = (),
    ) -> None:
        self._look = ProbeSet(load_probes(list(probes) or None, list(without)))
        self._settle = settle
        self._collect = collect
        self._ignore = tuple(ignore)
        self.left: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        gc.collect()  # what others left to finalizers goes before the block, not within it
        self._directory = _OwnDirectory()
        self._before = self._look.snapshot("all")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        try:
            self.left = self._settled()
        finally:
            self._directory.close()
        if not self.left:
            return
        if error is None:
            raise LeftBehind(self.left)
        error.add_note(_words(self.left))

    def _settled(self) -> tuple[str, ...]:
        if self._collect:
            gc.collect()
        until = time.monotonic() + self._settle
        pause = _FIRST_PAUSE
        while True:
            left = self._now()
            if not left or time.monotonic() >= until:
                return left
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _now(self) -> tuple[str, ...]:
        before, after = self._before, self._look.snapshot("all")
        states = {probe.name for probe in self._look.probes if probe.nature == "state"}
        added, _ = diff(_resources(before, states), _resources(after, states))
        found = {
            (probe, key): f"{item.label} ({probe})"
            for probe, key, item in added
            # Names that all processes of the machine see: others make some at the same time.
            if probe not in SHARED_PROBES or is_ours(path_of(probe, key))
        }
        for probe in states & before.keys() & after.keys():
            found.update(_changes(probe, before[probe], after[probe]))
        return tuple(
            sorted(
                text
                for (probe, key), text in found.items()
                if not any(fnmatchcase(f"{probe}:{key}", glob) for glob in self._ignore)
            )
        )


class _OwnDirectory:
    """A temporary directory for a while, as ``TMPDIR`` and `tempfile` understand it."""

    def __init__(self) -> None:
        self._before = os.environ.get("TMPDIR"), tempfile.tempdir
        self._path = tempfile.mkdtemp(prefix="ledger-")
        os.environ["TMPDIR"] = tempfile.tempdir = self._path

    def close(self) -> None:
        variable, tempfile.tempdir = self._before
        if variable is None:
            os.environ.pop("TMPDIR", None)
        else:
            os.environ["TMPDIR"] = variable
        shutil.rmtree(self._path, ignore_errors=True)


def _resources(taken: Snapshot, states: set[str]) -> Snapshot:
    kept = Snapshot(taken.errors)
    kept.update({name: items for name, items in taken.items() if name not in states})
    return kept


def _changes(probe: str, was: Mapping[str, Item], now: Mapping[str, Item]) -> dict[tuple[str, str], str]:
    """What of a probe's state is not as it was."""
    found: dict[tuple[str, str], str] = {}
    for key in was.keys() | now.keys():
        old, new = was.get(key), now.get(key)
        if state_changed(probe, key, old, new):
            some = new or old
            label = some.label if some is not None and some.label else key
            found[probe, key] = f"{label}: {_value(old)} before, {_value(new)} after ({probe})"
    return found


def _value(item: Item | None) -> str:
    return (item.value if item is not None else "") or "(absent)"


def _words(left: Sequence[str]) -> str:
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    first = f"the block left behind: {'; '.join(left[:_NAMED])}{more}"
    return "\n".join([first, *(f"  {text}" for text in left)]) if more else first
