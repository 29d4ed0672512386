"""Amounts and counts in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from faultinject._amounts import human_bytes
from faultinject.facts import Acquisition, CaseResult, Finding, Grade, Problem, Verdict

OBJECT: Final = "object"
"""The probe name of an object with a release method; it is a holder, not an amount."""

_FIRST: Final = ("processes", "shared memory", "fds", "threads")

SHORT: Final[dict[Verdict, str]] = {
    "double-release": "double",
    "wrong-release": "wrong",
    "traceback": "trace",
    "not-reached": "missed",
    "unstable": "unsteady",
}
"""Verdicts that are too long for a column."""

LONG: Final[dict[Verdict, str]] = {
    "leak": "not released",
    "double-release": "released twice",
    "wrong-release": "released though not owned",
    "order": "released in the wrong order",
    "late": "released only by finalization",
    "state": "process-wide state not restored",
    "masked": "the injected exception was replaced",
    "traceback": "the traceback was cut or the exception altered",
    "hang": "did not come back within the time limit",
    "crash": "the process died",
    "handled": "the fault was swallowed",
}

UNKNOWN: Final[dict[Verdict, str]] = {
    "not-reached": "the point was not reached: nothing is known of it",
    "unstable": "its repetitions disagree: nobody is accused",
}
"""Why a verdict says nothing."""

GRADES: Final[dict[Grade, str]] = {
    "before": "given back before the exception left the target",
    "dropped": "given back only when the last reference went",
    "collected": "given back only by a collection",
    "exit": "given back only at interpreter exit",
    "never": "never given back",
}


def what_of(wrong: Problem | Finding) -> str:
    """What is wrong, in words."""
    return wrong.what or LONG.get(wrong.verdict, "")


def gravest(result: CaseResult) -> str:
    """What a case's verdict rests on, in words."""
    for problem in result.problems:
        if problem.verdict == result.verdict and problem.violation == result.violation:
            return what_of(problem)
    return LONG.get(result.verdict) or UNKNOWN.get(result.verdict, result.verdict)


def counted(number: int, noun: str) -> str:
    """``1 case``, ``2,300 cases``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural(noun)}"


def plural(noun: str) -> str:
    """The plural of an English noun, as far as this package has them."""
    if noun.endswith(("ss", "x")):
        return f"{noun}es"
    return f"{noun}s"


def singular(noun: str) -> str:
    """The singular of a probe's name."""
    if noun.endswith(("sses", "xes")):
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun


def amounts_of(acquisitions: Iterable[Acquisition]) -> tuple[str, ...]:
    """What came to life, probe by probe: ``+2 processes``, ``+480 MiB shared memory``, ``gc.frozen = 9``.

    Objects with a release method are left out: they hold resources, they are none.
    """
    counts: dict[tuple[str, str], int] = {}
    states: list[str] = []
    for acquired in acquisitions:
        item = acquired.item
        if acquired.probe == OBJECT:
            continue
        if item.value:
            states.append(f"{item.label} = {item.value}")
        else:
            counts[acquired.probe, item.unit] = counts.get((acquired.probe, item.unit), 0) + item.amount
    return (
        *(_amount(probe, unit, counts[probe, unit]) for probe, unit in sorted(counts, key=_rank)),
        *states,
    )


def _rank(key: tuple[str, str]) -> tuple[int, str, str]:
    probe, unit = key
    return _FIRST.index(probe) if probe in _FIRST else len(_FIRST), probe, unit


def _amount(probe: str, unit: str, number: int) -> str:
    if unit == "bytes":
        return f"+{human_bytes(number)} {probe}"
    return f"+{number:,} {singular(probe) if number == 1 else probe}"


def clock(seconds: float) -> str:
    """A span for people: ``0.8 s``, ``42 s``, ``3 min 05 s``, ``2 h 10 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def some(names: Sequence[str], limit: int) -> str:
    """The first `limit` of the names, and how many more; ``nothing`` for none."""
    if not names:
        return "nothing"
    rest = len(names) - limit
    return ", ".join(names) if rest <= 0 else f"{', '.join(names[:limit])} and {rest:,} more"
