"""Writes a baseline: one fault point a line, so that its differences are those of the target."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from faultinject.errors import UsageError
from faultinject.gate._baseline import Baseline, Suppression
from faultinject.gate._changes import OwnedRow
from faultinject.matrix import Lines, comment, toml_lines
from faultinject.reports import write_whole

_HEAD: Final = """\
# The baseline of `faultinject gate` for {target} at level {level}. `faultinject gate --accept` writes it.
# points: where faults are injected. [[owned]]: what the target owns, and what gives it back. Both are
# compared with each run; a difference is for review (exit status 3).
# [[suppression]]: known violations of one root. A person may change reason, owner and expires; a case that is
# fixed and still listed, and a row whose date is over, fail the gate (exit status 1).
# Formats: 1 the first.
"""


def format_baseline(baseline: Baseline) -> str:
    """The text of a baseline."""
    header: dict[str, object] = {
        "format": baseline.format,
        "target": baseline.target,
        "level": baseline.level,
        "version": baseline.version,
        "python": baseline.python,
        "generated_by": baseline.generated_by,
        "faults": list(baseline.faults),
        "absent_probes": list(baseline.absent_probes),
        "points": Lines(baseline.points),
    }
    head = _HEAD.format(target=comment(baseline.target), level=baseline.level)
    blocks = [head + toml_lines(header)]
    blocks += [_owned(row) for row in baseline.owned]
    blocks += [_suppression(row) for row in baseline.suppression]
    return "\n".join(blocks)


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write a baseline, replacing the file in one step.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {path.parent}: {error.strerror or error}") from error
    write_whole(path, format_baseline(baseline).encode("utf-8"), "baseline")


def _owned(row: OwnedRow) -> str:
    said: dict[str, object] = {"release": row.release, "holder": row.holder, "order": row.order}
    values = {"name": row.name, "callee": row.callee, **{key: value for key, value in said.items() if value}}
    return f"[[owned]]\n{toml_lines(values)}"


def _suppression(row: Suppression) -> str:
    values: dict[str, object] = {
        "verdict": row.verdict,
        "charged_to": row.charged_to,
        "resources": list(row.resources),
        "reason": row.reason,
        "owner": row.owner,
        "expires": row.expires,
        "cases": Lines(row.cases),
    }
    return f"[[suppression]]\n{toml_lines(values)}"
