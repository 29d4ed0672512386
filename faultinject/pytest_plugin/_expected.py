"""Which violations of a case are expected: the mark allows them, or a committed file has them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from faultinject.facts import CaseResult, Recording
from faultinject.gate import Baseline, Suppression, baseline_path, compare
from faultinject.gate._compare import key_of, violations_of
from faultinject.matrix import NESTED, PLAIN
from faultinject.pytest_plugin._planned import Plan, Planned, committed, committed_baseline
from faultinject.pytest_plugin._settings import Settings
from faultinject.reports import Environment, Root


class Ruling(NamedTuple):
    """What a test makes of its case.

    Attributes:
        accused: the violations that fail it.
        note: what is to be said of them beside.
        stale: why it fails although nothing is accused: what is expected does not come any more.
        expected: why what it shows is expected.
    """

    accused: tuple[Root, ...] = ()
    note: str = ""
    stale: str = ""
    expected: str = ""


def with_baseline(plan: Plan, settings: Settings) -> Plan:
    """The plan of a test, with what the baseline that was asked for has to do with it.

    Raises:
        UsageError: the baseline of the gate cannot be read.
    """
    if settings.baseline == "none":
        return plan
    if settings.baseline == "gate":
        gate = committed_baseline(settings)
        if gate is not None:
            return msgspec.structs.replace(plan, gate=gate)
        path, why = _path(settings), "is not there"
    elif plan.kind == "matrix":
        return plan
    else:
        path, why = str(committed(settings)), "has no verdicts for this target, at this level"
    note = f"faultinject_baseline is {settings.baseline}, but {path} {why}: no violation is expected"
    return msgspec.structs.replace(plan, notes=(*plan.notes, note))


def rule(
    result: CaseResult,
    planned: Planned,
    plan: Plan,
    settings: Settings,
    recording: Recording,
    today: datetime.date,
) -> Ruling:
    """Tell what of a judged case fails its test; each root by itself, so that none hides another.

    Args:
        today: decides what has expired.
    """
    accused = tuple(root for root in violations_of(result) if root.verdict not in settings.allow)
    if plan.gate is not None:
        return _by_gate(result, accused, plan.gate, _path(settings), recording, today)
    if settings.baseline == "matrix" and plan.kind == "matrix":
        return _by_matrix(result, accused, planned.word, plan.source, settings.allow)
    return Ruling(accused)


def _by_matrix(
    result: CaseResult, accused: tuple[Root, ...], known: str, source: str, allow: Sequence[str]
) -> Ruling:
    if not known or known in PLAIN or known.startswith(NESTED) or known in allow:
        return Ruling(accused)
    others = tuple(root for root in accused if root.verdict != known)
    if others:
        return Ruling(others)
    if accused:
        return Ruling(expected=f"{known}, as in {source}")
    return Ruling(stale=f"{result.verdict} now, but {source} still has it as {known}")


def _by_gate(
    result: CaseResult,
    accused: tuple[Root, ...],
    gate: Baseline,
    source: str,
    recording: Recording,
    today: datetime.date,
) -> Ruling:
    """As the gate itself would, were this the only case."""
    rows = tuple(
        msgspec.structs.replace(row, cases=(result.id,)) for row in gate.suppression if result.id in row.ids
    )
    if not rows:
        return Ruling(accused)
    outcome = compare(
        msgspec.structs.replace(gate, points=(), owned=(), suppression=rows),
        msgspec.structs.replace(recording, points=(), owned=()),
        Environment("", "", "", faults=gate.faults),
        {result.id: result},
        (result.id,),
        today,
    )
    new = tuple(root for root in accused if root in outcome.new)
    over = {row.root for row in outcome.expired}
    expired = tuple(root for root in accused if key_of(root) in over)
    if new or expired:
        return Ruling((*new, *expired), "; ".join(f"{source}: {_over(row)}" for row in outcome.expired))
    if outcome.stale:
        gone = ", ".join(one.suppression.verdict for one in outcome.stale)
        return Ruling(stale=f"{result.verdict} now, but {source} still suppresses {gone}")
    rows = outcome.excused.get(result.id, ())
    return Ruling(expected="; ".join(f"{row.reason} ({row.owner}, until {row.expires})" for row in rows))


def _over(row: Suppression) -> str:
    return f"suppressed until {row.expires} ({row.owner}): {row.reason}"


def _path(settings: Settings) -> str:
    return str(baseline_path(settings.matrices, settings.options.target.name, settings.options.level))
