"""What a gate says, in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from faultinject.matrix import NOTHING_KNOWN
from faultinject.reports._suite import Kind, Suite
from faultinject.reports._words import counted, some

_BROKEN: Final = 2
_GRAVEST_FIRST: Final = (_BROKEN, 1, 3)
_STATUS: Final = {0: "The gate passes: ", 1: "The gate fails: ", _BROKEN: "The gate fails: ", 3: ""}


def gate_sentence(suites: Sequence[Suite]) -> tuple[int, str]:
    """The status of a gate of these sweeps, and why."""
    statuses = {suite.ruling.status for suite in suites if suite.ruling is not None}
    status = next((one for one in _GRAVEST_FIRST if one in statuses), 0)
    broken = [suite.name for suite in suites if suite.broken]
    swept = [suite for suite in suites if not suite.broken]
    cases = counted(sum(len(suite.results) for suite in swept), "case")
    where = f"in {cases} of {counted(len(swept), 'sweep')}{_aside(swept)}" if swept else ""
    missing = f"{len(broken)} of {counted(len(suites), 'sweep')} could not be made ({some(broken, 3)})"
    return status, _STATUS[status] + _why(status, swept, where, missing if broken else "")


def ruling_sentence(suite: Suite, *, alone: bool) -> tuple[int, str]:
    """The status of one of its sweeps, and why.

    Args:
        alone: it is the only one, so that this is what the gate says.
    """
    ruling = suite.ruling
    assert ruling is not None
    ran = len(suite.results)
    cases = counted(ran, "case") if ran >= ruling.found else f"{ran:,} of {counted(ruling.found, 'case')}"
    where = f"in {cases} at level {suite.recording.level}{_aside([suite])}" if not suite.broken else ""
    why = _why(ruling.status, [suite], where, "the sweep could not be made" if suite.broken else "")
    text = (_STATUS[ruling.status] if alone else "") + why
    return ruling.status, f"{text[:1].upper()}{text[1:]}"


def _why(status: int, suites: Sequence[Suite], where: str, missing: str) -> str:
    if status == 0:
        return f"nothing new {where}."
    if status == 3:
        return f"No new violation {where}, but the target changed: review, then `faultinject gate --accept`."
    kinds: Counter[Kind] = Counter(
        change.kind for suite in suites if suite.ruling is not None for change in suite.ruling.changes
    )
    found = [
        counted(kinds["new"], "new violation") if kinds["new"] else "",
        f"{kinds['fixed']:,} fixed and still listed" if kinds["fixed"] else "",
        f"{kinds['expired']:,} expired" if kinds["expired"] else "",
    ]
    said = ", ".join(filter(None, [missing, *(found if any(found) or not where else ["nothing new"])]))
    return f"{said} {where}".rstrip() + "."


def _aside(suites: Sequence[Suite]) -> str:
    """How many cases are suppressed, and of how many nothing is known."""
    excused = sum(len(suite.excused()) for suite in suites)
    unknown = sum(result.verdict in NOTHING_KNOWN for suite in suites for result in suite.results)
    parts = [
        f"{counted(excused, 'case')} suppressed" if excused else "",
        f"nothing known of {counted(unknown, 'case')}" if unknown else "",
    ]
    said = ", ".join(filter(None, parts))
    return f" ({said})" if said else ""
