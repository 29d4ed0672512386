"""A gate with a time limit: which fault points come first, and how many of them.

Without a record of earlier runs (a fresh machine of continuous integration) every point has to come up by the
seed alone. The points are put in an order that only their names decide, as on a ring, and a run begins at
``seed * golden ratio`` of the way around it: of all rotations by a constant this one leaves the smallest
gaps (the three-gap theorem), so that runs with the seeds 1, 2, 3, ... which each manage one part in n of the
points have had all of them after 2 n runs.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from faultinject._reading import quoted
from faultinject.errors import UsageError
from faultinject.facts import Case
from faultinject.points import point_key

GOLDEN: Final = (5**0.5 - 1) / 2

_DURATION: Final = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?")
_DIGITS: Final = 9
_LONGEST: Final = 1000 * 3600
"""Seconds, of a budget."""

_FIRST: Final = 4
"""Points in the first batch: few, as nothing is known yet of how long they take."""


class Place(NamedTuple):
    """How urgent a point is: the smaller, the earlier it runs.

    Attributes:
        urgency: 0 it failed when it last ran; 1 not in the baseline, or its code has changed; 2 never run;
            3 any other.
        turn: its place on the ring, from where this run begins.
    """

    urgency: int
    turn: int


def parse_duration(text: str) -> float:
    """Seconds in ``5m``, ``90s``, ``1h30m`` or a plain number of seconds.

    Raises:
        UsageError: it is none of these, nothing at all, or beyond reason.
    """
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None or not any(found.groups()):
        raise UsageError(f"no time {quoted(text)}: write it as 5m, 90s, 1h30m, or as seconds")
    parts = [part or "0" for part in found.groups()]
    # Cut before it is a number: of thousands of digits the interpreter makes none.
    total = sum(each * int(part[:_DIGITS]) for each, part in zip((3600, 60, 1), parts, strict=True))
    if total > _LONGEST or any(len(part) > _DIGITS for part in parts):
        raise UsageError(f"a budget of {quoted(text)} has no end: give at most {_LONGEST // 3600}h")
    if not total:
        raise UsageError(f"a budget of {text!r} leaves no time for any case: give at least 1s")
    return float(total)


def in_turn(
    cases: Sequence[Case],
    urgent: frozenset[str],
    never_run: frozenset[str],
    seed: int,
    failing: frozenset[str] = frozenset(),
) -> list[list[Case]]:
    """The cases, point by point, in the order in which they are to run.

    Args:
        urgent: keys of the points that come first.
        never_run: keys of those that come next.
        seed: where on the ring the run begins; the next one begins elsewhere.
        failing: ids of cases whose points come before any other.
    """
    points: dict[str, list[Case]] = {}
    for case in cases:
        points.setdefault(point_key(case.point), []).append(case)
    open_ = {key for key, found in points.items() if any(case.id in failing for case in found)}
    ring = sorted(points, key=_name)
    start = int(seed * GOLDEN % 1.0 * len(ring))
    places: Mapping[str, Place] = {
        key: Place(
            0 if key in open_ else 1 if key in urgent else 2 if key in never_run else 3,
            (number - start) % len(ring),
        )
        for number, key in enumerate(ring)
    }
    return [points[key] for key in sorted(points, key=places.__getitem__)]


def batches(
    points: Sequence[Sequence[Case]], seconds: float, now: Callable[[], float] = time.monotonic
) -> Iterator[list[Case]]:
    """Batches of points, as many as there is time for; the first in any case.

    A batch is at most twice the one before it, and no longer than the time left is expected to last.

    Args:
        points: the cases of each, in their order.
        seconds: that may be spent, from the first batch on.
        now: a monotonic clock, in seconds.
    """
    end = now() + seconds
    size, done = _FIRST, 0
    while done < len(points):
        began = now()
        yield [case for point in points[done : done + size] for case in point]
        done += size
        left = end - now()
        each = max((now() - began) / size, 1e-6)
        size = min(2 * size, int(left / each)) if left > 0 else 0
        if size < 1:
            return


def _name(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
