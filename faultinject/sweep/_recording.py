"""Recordings that agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import get_args

import msgspec

from faultinject.errors import TargetError
from faultinject.facts import Level, Point, Recording
from faultinject.points import point_key
from faultinject.runners import Pool, Record, Recorded
from faultinject.sweep._options import Options

_TRIES = 5


def discover(options: Options, pool: Pool) -> tuple[Recording, dict[str, tuple[str, ...]]]:
    """Record until two runs agree on the fault points.

    Returns:
        The recording, and for each point (by `point_key`) the stack from the target to it.

    Raises:
        TargetError: it fails or hangs without any fault, or its points change from run to run.
    """
    settings = options.settings()
    release = options.target.release or pool.ready.release
    order = Record(settings, True, release)
    again = Record(settings, False, release)
    runs = pool.record_many([order, again])
    agreed = _agreeing(runs)
    while agreed is None and len(runs) < _TRIES:
        runs += pool.record_many([again])
        agreed = _agreeing(runs)
    if agreed is None:
        differs = _differences(runs)
        raise TargetError(
            f"target {options.target.name} is unstable: its fault points changed in each of {len(runs)} runs "
            f"({len(differs)} differ, such as {'; '.join(differs[:3])}); leave them out with --exclude-name, "
            "or make the constructor deterministic"
        )
    first = max(agreed, key=lambda run: (len(run.owned), bool(run.residue)))
    with_residue = next((r for r in runs if r.residue or r.unreleased or r.notes), runs[0])
    recording = Recording(
        options.target.name,
        options.level,
        first.points,
        first.steps,
        first.owned,
        with_residue.residue,
        with_residue.unreleased,
        first.holds,
        first.attributes,
        first.release,
        min(r.seconds for r in runs),
        len(runs),
        (),
        first.capped,
        with_residue.notes,
        first.frame,
        {name: start for start, name in first.owners.items()},
        first.release_counts,
    )
    stacks = {point_key(p): s for p, s in zip(first.points, first.stacks, strict=True)}
    return recording, stacks


def _agreeing(runs: Sequence[Recorded]) -> list[Recorded] | None:
    keys = [frozenset(point_key(p) for p in run.points) for run in runs]
    found, number = Counter(keys).most_common(1)[0]
    return [run for run, key in zip(runs, keys, strict=True) if key == found] if number > 1 else None


def _differences(runs: Sequence[Recorded]) -> list[str]:
    counts = Counter(key for run in runs for key in {point_key(p) for p in run.points})
    return sorted(key for key, number in counts.items() if number < len(runs))


def check_has_points(recording: Recording) -> None:
    """See that there is something to sweep.

    Raises:
        TargetError: the target makes no call that is a fault point at this level.
    """
    if recording.points:
        return
    finer = [level for level in get_args(Level) if level not in (recording.level, "steps", "milestones")]
    if recording.level == "opcodes":
        how = "it is not made of Python code; name a factory written in Python that calls it"
    else:
        how = f"it makes no call there; look finer, with --level opcodes (levels: {', '.join(finer)})"
    raise TargetError(f"target {recording.target} has no fault point at level {recording.level}: {how}")


def with_points(recording: Recording, points: Sequence[Point]) -> Recording:
    return msgspec.structs.replace(recording, points=tuple(points))
