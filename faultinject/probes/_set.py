"""Several probes taken together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import msgspec

from faultinject.facts import Item
from faultinject.probes._protocol import Probe


class Snapshot(dict[str, Mapping[str, Item]]):
    """What each probe saw, by the probe's name, then by its key. Not to be changed: probes share parts of it.

    Attributes:
        errors: by probe name, the exception of each probe that failed, now or before. Such a probe has no
            entry, and says nothing about whether anything was left.
    """

    __slots__ = ("errors",)

    def __init__(self, errors: Mapping[str, str] = {}) -> None:
        super().__init__()
        self.errors: dict[str, str] = dict(errors)


class ProbeSet:
    """Probes that are asked together; one that raises is left out from then on, and named.

    Args:
        probes: in the order in which they are asked.

    Attributes:
        probes: those that can look here.
        unavailable: by probe name, why the others cannot (``"no GPU"``).
        errors: by probe name, the exception of each probe that has failed.
    """

    def __init__(self, probes: Iterable[Probe]) -> None:
        self.probes: list[Probe] = []
        self.unavailable: dict[str, str] = {}
        self.errors: dict[str, str] = {}
        for probe in probes:
            try:
                reason = probe.unavailable()
            except Exception as error:
                self.errors[probe.name] = _text(error)
                continue
            if reason is None:
                self.probes.append(probe)
            else:
                self.unavailable[probe.name] = reason
        self._plans: dict[tuple[str, bool], list[tuple[str, Callable[[], Mapping[str, Item]]]]] = {}

    def snapshot(self, cost: Literal["cheap", "all"] = "cheap", *, resources_only: bool = False) -> Snapshot:
        """What is live now.

        Args:
            cost: ``cheap`` leaves out the costly probes.
            resources_only: leave out the probes of state, as between two calls of the target.

        An ``Exception`` in a probe ends up in ``errors``; a ``KeyboardInterrupt`` or any other
        BaseException is not the probe's and passes.
        """
        plan = self._plans.get((cost, resources_only))
        if plan is None:
            plan = self._plan(cost, resources_only)
        taken = Snapshot(self.errors)
        for name, look in plan:
            try:
                taken[name] = look()
            except Exception as error:
                # No traceback is kept: it would hold frames, and by them objects, of the target.
                self.errors[name] = taken.errors[name] = _text(error)
                self._drop(name)
        return taken

    def _plan(self, cost: str, resources_only: bool) -> list[tuple[str, Callable[[], Mapping[str, Item]]]]:
        plan = [
            (probe.name, probe.snapshot)
            for probe in self.probes
            if (cost == "all" or probe.cost == "cheap") and not (resources_only and probe.nature == "state")
        ]
        self._plans[cost, resources_only] = plan
        return plan

    def _drop(self, name: str) -> None:
        self.probes = [probe for probe in self.probes if probe.name != name]
        self._plans = {}


def diff(
    before: Mapping[str, Mapping[str, Item]], after: Mapping[str, Mapping[str, Item]]
) -> tuple[list[tuple[str, str, Item]], list[tuple[str, str, Item]]]:
    """What came and what went between two snapshots, probe by probe.

    An amount of bytes that grew under the same key came as an item of the difference; one that shrank is
    no loss. Probes that only one snapshot has are not compared: one that failed has seen nothing. Meant for
    resources; for state see `state_changed`.

    Returns:
        ``(added, removed)``, each a list of ``(probe, key, item)``.
    """
    added: list[tuple[str, str, Item]] = []
    removed: list[tuple[str, str, Item]] = []
    for probe, now in after.items():
        was = before.get(probe)
        if was is None or was is now:
            continue
        for key, item in now.items():
            old = was.get(key)
            if old is None:
                added.append((probe, key, item))
            elif old is not item and item.unit == "bytes" and item.amount > old.amount:
                more = msgspec.structs.replace(item, amount=item.amount - old.amount)
                added.append((probe, key, more))
        removed.extend((probe, key, item) for key, item in was.items() if key not in now)
    return added, removed


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
