"""Runs a function under a tracker, as a recording does."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

from faultinject.backends import choose_backend
from faultinject.facts import Level, Phase, Point
from faultinject.probes import ProbeSet, load_probes
from faultinject.runners._construct import invoke
from faultinject.tracking import Identifier, Ledger, Site, Tracker


class Recorder:
    def __init__(self, level: Level) -> None:
        self.level = level
        self.points: list[Point] = []
        self.stacks: list[tuple[str, ...]] = []

    def at(self, site: Site, phase: Phase, frame: FrameType, tracker: Tracker) -> None:
        self.points.append(site.point(self.level, phase))
        self.stacks.append(tuple(name for _, name in tracker.stack.path(frame)))


def record(
    function: Callable[[], object], level: Level = "steps", *, depth: int = 4, probes: tuple[str, ...] = (),
    **options: Any,
) -> tuple[Recorder, Tracker]:  # fmt: skip
    """The points of one run, unharmed, and the tracker that saw it.

    Args:
        probes: what the ledger looks through; without any there is no ledger.
    """
    ledger = None
    if probes:
        chosen = ProbeSet(load_probes(probes, plugins=False))
        ledger = Ledger(chosen, chosen.snapshot("cheap"))
    backend = choose_backend()
    recorder = Recorder(level)
    dense = level not in ("steps", "opcodes")
    tracker = Tracker(Identifier(level, depth), ledger, recorder, backend, dense=dense, **options)
    backend.install(tracker, tracker.is_root if level == "opcodes" else None)
    try:
        _, failure = invoke(function, (), {})
    finally:
        backend.remove()
    if failure is not None:
        raise failure
    return recorder, tracker


def calls(points: list[Point]) -> list[tuple[str, str, int]]:
    """(caller, callee, occurrence), without modules, of the points of phase ``before``, in order."""
    return [
        (p.caller.partition(":")[2], p.callee.partition(":")[2], p.occurrence)
        for p in points
        if p.phase == "before"
    ]
