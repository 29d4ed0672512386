"""The lifecycle matrices of several versions of one target, row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from faultinject.errors import UsageError
from faultinject.matrix._cells import NESTED, PLAIN
from faultinject.matrix._read import Matrix, StepRow

Call = tuple[str, str, int]
"""Who makes a call (empty for the target's own frame), what is called, and the how manieth it is."""


class VersionRow(NamedTuple):
    """A call, with the words on its cases in each version; none where a version does not make it.

    Attributes:
        callee: ``module:qualname``.
        words: by version, how often each word came, all columns together.
    """

    callee: str
    words: tuple[Counter[str] | None, ...]


class VersionTotals(NamedTuple):
    """What came of one version's cases.

    Attributes:
        cases: judged.
        violations: those that accuse the target.
        nested: those charged to a frame beneath it.
    """

    cases: int
    violations: int
    nested: int


def in_order(matrices: Sequence[Matrix]) -> list[Matrix]:
    """Matrices of one target, the oldest version first.

    Raises:
        UsageError: they are of different targets, levels or columns, or two are of one version.
    """
    ordered = sorted(matrices, key=lambda matrix: _version_key(matrix.version))
    for one, following in pairwise(ordered):
        if following.target != one.target:
            raise UsageError(f"matrices of {one.target} and of {following.target}: give those of one target")
        if following.version == one.version:
            raise UsageError(f"two matrices of {one.target} {one.version}: give one of each version")
        if following.level != one.level:
            raise UsageError(
                f"{one.target} {one.version} is of level {one.level}, {following.version} of level "
                f"{following.level}: sweep both at the same level"
            )
    return ordered


def _version_key(version: str) -> tuple[bool, Any, str]:
    """Sorts versions as people do: 0.9 before 0.28. What is none comes first."""
    # Needed by those that compare versions alone.
    from packaging.version import InvalidVersion, Version

    try:
        return True, Version(version), version
    except InvalidVersion:
        return False, Version("0"), version


def version_rows(matrices: Sequence[Matrix]) -> list[VersionRow]:
    """The calls of all versions in one order, each once.

    The order is that of the newest; a call that it does not make any more comes after the one it followed.

    Args:
        matrices: as of `in_order`.
    """
    tables = [_table(matrix) for matrix in matrices]
    order: list[Call] = []
    for table in reversed(tables):
        place = 0
        for call in table:
            if call in order:
                place = order.index(call) + 1
            else:
                order.insert(place, call)
                place += 1
    return [VersionRow(call[1], tuple(table.get(call) for table in tables)) for call in order]


def totals(matrix: Matrix) -> VersionTotals:
    """The cases of one matrix, counted."""
    words: Counter[str] = sum((_words(row) for row in matrix.step), Counter())
    nested = sum(count for word, count in words.items() if word.startswith(NESTED))
    plain = sum(count for word, count in words.items() if word in PLAIN)
    return VersionTotals(words.total(), words.total() - plain - nested, nested)


def _table(matrix: Matrix) -> dict[Call, Counter[str]]:
    found: dict[Call, Counter[str]] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for row in sorted(matrix.step, key=lambda row: row.number):
        if row.number:
            seen[row.caller, row.callee] += 1
            found[row.caller, row.callee, seen[row.caller, row.callee]] = _words(row)
    return found


def _words(row: StepRow) -> Counter[str]:
    words: Counter[str] = Counter()
    for cell in row.verdicts.values():
        words.update({cell: 1} if isinstance(cell, str) else cell)
    return words
