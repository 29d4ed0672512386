"""The baseline of a gate: what a sweep may find without the gate failing. A TOML file that is committed."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from pathlib import Path
from typing import Final

import msgspec

from faultinject._reading import place, quoted, read_table
from faultinject.errors import UsageError
from faultinject.facts import Level, Verdict
from faultinject.gate._changes import OwnedRow
from faultinject.matrix import matrix_path
from faultinject.points import parse_point_key

# Formats: 1 (0.1) the first.
FORMAT: Final = 1

_CASE: Final = re.compile(r"[0-9a-f]{8}(?:[0-9a-f]{8})?(?: .*)?", re.S)
_NO_VIOLATION: Final = frozenset({"clean", "not-reached", "unstable"})
RootKey = tuple[str, str, tuple[str, ...]]
"""Verdict, frame and resources."""


class Suppression(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ``[[suppression]]`` row: violations with one root that are known, and may stay for a while.

    Attributes:
        verdict, charged_to, resources: the root, as of a finding; a kind of which it holds several stands
            there as often.
        cases: ids of the cases that may show it; what follows an id is for people.
        reason: why it may stay.
        owner: who is to fix it.
        expires: the last day on which it may.
    """

    verdict: Verdict
    charged_to: str
    cases: tuple[str, ...]
    reason: str
    owner: str
    expires: datetime.date
    resources: tuple[str, ...] = ()

    @property
    def root(self) -> RootKey:
        return self.verdict, self.charged_to, tuple(sorted(self.resources))

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(case.partition(" ")[0] for case in self.cases)


class Baseline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A baseline as it stands in its file.

    Attributes:
        faults: that were injected.
        absent_probes: that could not look.
        points: every fault point, as of `faultinject.points.point_key`.
    """

    format: int
    target: str
    level: Level
    version: str = ""
    python: str = ""
    generated_by: str = ""
    faults: tuple[str, ...] = ()
    absent_probes: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    owned: tuple[OwnedRow, ...] = ()
    suppression: tuple[Suppression, ...] = ()


def baseline_path(directory: Path, target: str, level: Level) -> Path:
    """Where the baseline of a sweep lies: ``<directory>/<target>.<level>.baseline.toml``."""
    return directory / f"{matrix_path(directory, target).stem}.{level}.baseline.toml"


def read_baseline(path: Path) -> Baseline:
    """Read a baseline, strictly.

    Raises:
        UsageError: no such file, too large, no TOML, another format, an unknown key, a wrong type, a text
            that is no fault point or case, or something that stands there twice; with file and key.
    """
    baseline = read_table(path, Baseline, "baseline", FORMAT, "`--accept` writes a new one")
    _check(place(path), baseline)
    return baseline


def _check(path: str, baseline: Baseline) -> None:
    for key, number in Counter(baseline.points).items():
        if number > 1:
            raise UsageError(f"{path}: points: {quoted(key)} stands there {number} times: keep one")
        try:
            point = parse_point_key(key)
        except UsageError:
            raise UsageError(
                f"{path}: points: {quoted(key)} is no fault point: `--accept` writes a new one"
            ) from None
        if point.level != baseline.level:
            raise UsageError(f"{path}: points: {quoted(key)} is not of level {baseline.level}")
    for number, row in enumerate(baseline.suppression, 1):
        where = f"{path}: suppression row {number}"
        if row.verdict in _NO_VIOLATION:
            raise UsageError(f"{where}: verdict: {row.verdict} is no violation: remove the row")
        for name in ("charged_to", "reason", "owner"):
            if not getattr(row, name).strip():
                raise UsageError(
                    f"{where}: {name}: it is empty: say it, or remove the row and fix the violation"
                )
        if not row.cases:
            raise UsageError(f"{where}: cases: there is none: remove the row")
        for case in row.cases:
            if not _CASE.fullmatch(case):
                raise UsageError(f"{where}: cases: {quoted(case)} does not begin with the id of a case")
        if len(row.ids) != len(row.cases):
            raise UsageError(f"{where}: cases: one stands there twice: keep one")
    for first, row in enumerate(baseline.suppression, 1):
        for second, other in enumerate(baseline.suppression[first:], first + 1):
            both = row.ids & other.ids if row.root == other.root else None
            if both:
                raise UsageError(
                    f"{path}: suppression rows {first} and {second} both list {sorted(both)[0]}: keep one"
                )
