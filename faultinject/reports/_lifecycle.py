"""A page on the lifecycle of a target through its versions: version x step x verdict, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from faultinject.matrix import Matrix, in_order, totals, version_rows
from faultinject.points import short_name
from faultinject.reports._markdown import code, escaped, table
from faultinject.reports._matrix import word_lines
from faultinject.reports._words import counted

_LEGEND = (
    "A cell has the verdicts of all cases at that call: `4 leak` is a leak in each of four. In brackets: "
    "charged to a frame beneath the target. A dash: this version does not make the call."
)


def render_lifecycle(matrices: Sequence[Matrix], command: str = "") -> str:
    """The page of some matrices: a section for each target, a column for each version.

    Args:
        matrices: of any targets; those of one target are of different versions.
        command: that makes the page again, to be named on it.

    Raises:
        UsageError: as of `in_order`.
    """
    by_target: dict[str, list[Matrix]] = {}
    for matrix in matrices:
        by_target.setdefault(matrix.target, []).append(matrix)
    lines = ["# Lifecycle by version", ""]
    if command:
        lines += [f"Made of the lifecycle matrices by {code(command)}.", ""]
    lines += [_LEGEND, ""]
    for found in by_target.values():
        lines += _section(in_order(found))
    return "\n".join(lines).rstrip("\n") + "\n"


def _section(matrices: Sequence[Matrix]) -> list[str]:
    newest = matrices[-1]
    versions = [escaped(matrix.version or "unknown") for matrix in matrices]
    sums = [totals(matrix) for matrix in matrices]
    lines = [f"## {code(newest.target)}", ""]
    lines += table(
        ("", *versions),
        [
            ("cases", *(f"{one.cases:,}" for one in sums)),
            ("violations", *(f"{one.violations:,}" for one in sums)),
            ("charged beneath", *(f"{one.nested:,}" for one in sums)),
        ],
    )
    rows = version_rows(matrices)
    lines += ["", f"{counted(len(rows), 'call')} at level {newest.level}:", ""]
    lines += table(
        ("call", *versions),
        [(code(short_name(row.callee)), *map(_cell, row.words)) for row in rows],
        cut=False,
    )
    return [*lines, ""]


def _cell(words: Counter[str] | None) -> str:
    if words is None:
        return "-"
    return ", ".join(map(escaped, word_lines(words, counted=True))) or "not swept"
