"""A sweep against its baseline: what is new, what is fixed, what has expired, what changed."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from faultinject.facts import CaseResult, Recording
from faultinject.gate._baseline import Baseline, RootKey, Suppression
from faultinject.gate._changes import (
    PointChanges,
    owned_rows,
    ownership_changes,
    plain_name,
    point_changes,
)
from faultinject.matrix import NOTHING_KNOWN
from faultinject.points import point_key
from faultinject.reports import Environment, Root, roots_of

PASSED: Final = 0
FAILED: Final = 1
BROKEN: Final = 2
CHANGED: Final = 3
SOON: Final = datetime.timedelta(days=14)


@dataclass(frozen=True)
class Stale:
    """Cases that a suppression lists and that do not show its root any more.

    Attributes:
        fixed: ids of cases that ran, and are right.
        gone: ids of cases that there are no more.
    """

    suppression: Suppression
    fixed: tuple[str, ...]
    gone: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What a gate makes of a sweep.

    Attributes:
        known: whether there is a baseline.
        new: by root, the cases that show it and are not listed.
        expired: suppressions whose last day is over.
        soon: suppressions whose last day is near.
        excused: by id, the suppressions of a case whose every violation is listed.
        points, owned: how the recording differs.
        looked: how what is injected, and what is looked at, differs, in words.
    """

    known: bool
    new: Mapping[Root, tuple[CaseResult, ...]] = field(default_factory=dict)
    stale: tuple[Stale, ...] = ()
    expired: tuple[Suppression, ...] = ()
    soon: tuple[Suppression, ...] = ()
    excused: Mapping[str, tuple[Suppression, ...]] = field(default_factory=dict)
    points: PointChanges = field(default_factory=PointChanges)
    owned: tuple[str, ...] = ()
    looked: tuple[str, ...] = ()

    @property
    def failing(self) -> frozenset[str]:
        """Ids of the cases that the gate fails for."""
        new = {result.id for results in self.new.values() for result in results}
        return frozenset(new.union(*(stale.fixed for stale in self.stale)))

    @property
    def status(self) -> int:
        """0 nothing new, 1 a violation that is new, fixed or expired, 3 something to review."""
        if self.new or self.stale or self.expired:
            return FAILED
        return CHANGED if not self.known or self.points or self.owned or self.looked else PASSED


def compare(
    baseline: Baseline | None,
    recording: Recording,
    environment: Environment,
    results: Mapping[str, CaseResult],
    cases: Sequence[str],
    today: datetime.date,
) -> Outcome:
    """Compare a sweep, or the part of it that ran, with its baseline.

    Of a case that did not run, was not reached, or whose repetitions disagree, nothing is known: it is
    neither new nor fixed.

    Args:
        baseline: None where there is none yet.
        results: of the cases that ran, by id.
        cases: ids of every case that there is.
        today: decides what has expired.
    """
    rows = baseline.suppression if baseline is not None else ()
    listed: dict[tuple[str, RootKey], Suppression] = {
        (case, row.root): row for row in rows for case in row.ids
    }
    new: dict[Root, list[CaseResult]] = {}
    excused: dict[str, tuple[Suppression, ...]] = {}
    for result in results.values():
        roots = violations_of(result)
        used = [listed.get((result.id, key_of(root))) for root in roots]
        for root, row in zip(roots, used, strict=True):
            if row is None:
                new.setdefault(root, []).append(result)
        valid = [row for row in used if row is not None and row.expires >= today]
        if roots and len(valid) == len(roots):
            excused[result.id] = tuple(valid)
    there = set(cases)
    stale = tuple(found for row in rows if (found := _stale(row, results, there)) is not None)
    whole = {
        id(found.suppression)
        for found in stale
        if len(found.fixed) + len(found.gone) == len(found.suppression.cases)
    }
    left = [row for row in rows if id(row) not in whole]
    news = {root: tuple(shown) for root, shown in new.items()}
    if baseline is None:
        return Outcome(False, news)
    keys = [point_key(point) for point in recording.points]
    return Outcome(
        True,
        news,
        stale=stale,
        expired=tuple(row for row in left if row.expires < today),
        soon=tuple(row for row in left if today <= row.expires < today + SOON),
        excused=excused,
        points=point_changes(baseline.points, keys, baseline.level),
        owned=ownership_changes(baseline.owned, owned_rows(recording.owned)),
        looked=_looked(baseline, environment),
    )


def violations_of(result: CaseResult) -> tuple[Root, ...]:
    """The roots of what is charged to the target in a case."""
    if not result.violation or result.verdict in NOTHING_KNOWN:
        return ()
    return tuple(root for root in roots_of(result) if root.violation)


def key_of(root: Root) -> RootKey:
    """A root as `Suppression.root` has it."""
    return root.verdict, root.charged_to, tuple(sorted(map(plain_name, root.resources)))


def _stale(row: Suppression, results: Mapping[str, CaseResult], there: set[str]) -> Stale | None:
    fixed = [
        case
        for case in sorted(row.ids)
        if case in results
        and results[case].verdict not in NOTHING_KNOWN
        and row.root not in map(key_of, violations_of(results[case]))
    ]
    gone = [case for case in sorted(row.ids) if case not in there]
    return Stale(row, tuple(fixed), tuple(gone)) if fixed or gone else None


def _looked(baseline: Baseline, environment: Environment) -> tuple[str, ...]:
    said = [
        f"{fault} is injected, and was not" for fault in environment.faults if fault not in baseline.faults
    ]
    said += [f"{fault} is injected no more" for fault in baseline.faults if fault not in environment.faults]
    # One that looks here and did not look there finds what is new; one that does not look here finds nothing.
    said += [
        f"the probe {name} could look, and cannot here: {why}"
        for name, why in sorted(environment.absent_probes.items())
        if name not in baseline.absent_probes
    ]
    return tuple(said)
