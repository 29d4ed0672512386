"""What a gate says, in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from faultinject.reports._suite import Kind, Suite
from faultinject.reports._words import counted

_STATUS: Final = {0: "The gate passes: ", 1: "The gate fails: ", 3: ""}


def gate_sentence(suites: Sequence[Suite]) -> tuple[int, str]:
    """The status of a gate of these sweeps, and why."""
    statuses = {suite.ruling.status for suite in suites if suite.ruling is not None}
    status = next((one for one in (1, 3) if one in statuses), 0)
    kinds = Counter(change.kind for suite in suites if suite.ruling for change in suite.ruling.changes)
    cases = counted(sum(len(suite.results) for suite in suites), "case")
    where = f"in {cases} of {counted(len(suites), 'sweep')}"
    excused = sum(len(suite.excused()) for suite in suites)
    return status, _STATUS[status] + _capital(_why(status, kinds, where, excused), first=status == 3)


def ruling_sentence(suite: Suite, *, alone: bool) -> tuple[int, str]:
    """The status of one of its sweeps, and why.

    Args:
        alone: it is the only one, so that this is what the gate says.
    """
    ruling = suite.ruling
    assert ruling is not None
    ran = len(suite.results)
    cases = counted(ran, "case") if ran >= ruling.found else f"{ran:,} of {counted(ruling.found, 'case')}"
    kinds = Counter(change.kind for change in ruling.changes)
    where = f"in {cases} at level {suite.recording.level}"
    why = _why(ruling.status, kinds, where, len(suite.excused()))
    prefix = _STATUS[ruling.status] if alone else ""
    return ruling.status, prefix + _capital(why, first=not prefix)


def _why(status: int, kinds: Counter[Kind], where: str, excused: int) -> str:
    known = f" ({counted(excused, 'case')} suppressed)" if excused else ""
    if status == 0:
        return f"nothing new {where}{known}."
    if status == 3:
        advice = "but the target changed: review, then faultinject gate --accept"
        return f"no new violation {where}{known}, {advice}."
    parts = (
        counted(kinds["new"], "new violation") if kinds["new"] else "",
        f"{kinds['fixed']:,} fixed and still listed" if kinds["fixed"] else "",
        f"{kinds['expired']:,} expired" if kinds["expired"] else "",
    )
    return f"{', '.join(filter(None, parts))} {where}{known}."


def _capital(text: str, *, first: bool) -> str:
    return f"{text[:1].upper()}{text[1:]}" if first else text
