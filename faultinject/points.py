"""The identity of a fault point, and of a case, as text.

A point is known by its level, phase, caller, callee, occurrence and stack. File and line are for the
reader: they move with every edit above the call, so they are in no key.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, get_args

from faultinject.errors import UsageError
from faultinject.facts import Case, Level, Phase, Point

LEVELS: Final[tuple[Level, ...]] = get_args(Level)
PHASES: Final[tuple[Phase, ...]] = get_args(Phase)
ID_LENGTH: Final = 8
"""Hex characters of a case id. Where two cases of one sweep share them, both get twice as many."""

_KEY: Final = re.compile(
    r"(?P<level>\S+) (?P<phase>\S+) (?P<caller>.+?) -> (?P<callee>.+?) #(?P<occurrence>[1-9][0-9]{0,8})"
    r"(?: via (?P<stack>.+))?"
)


def parse_level(text: str) -> Level:
    """The level of that name.

    Raises:
        UsageError: there is none.
    """
    for level in LEVELS:
        if text == level:
            return level
    raise UsageError(f"unknown level {text!r}: choose one of {', '.join(LEVELS)}")


def parse_phases(text: str) -> tuple[Phase, ...]:
    """The phases in a comma-separated list, in the order ``before``, ``after``, each once.

    Raises:
        UsageError: a name in it is no phase, or it holds none.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in PHASES:
            raise UsageError(f"unknown phase {name!r}: choose from {', '.join(PHASES)}")
    if not names:
        raise UsageError(f"no phase given: choose from {', '.join(PHASES)}")
    return tuple(phase for phase in PHASES if phase in names)


def module_of(name: str) -> str:
    """The module in ``module:qualname``; empty where there is none."""
    module, colon, _ = name.partition(":")
    return module if colon else ""


def qualname_of(name: str) -> str:
    """The qualified name in ``module:qualname``."""
    before, colon, after = name.partition(":")
    return after if colon else before


def short_name(name: str) -> str:
    """A name that fits a row: class and method, without module and without enclosing functions."""
    qualname = qualname_of(name)
    return qualname.rpartition("<locals>.")[2] or qualname


def point_key(point: Point) -> str:
    """Stable text of a point: equal for equal points, whatever file and line they are at now."""
    key = f"{point.level} {point.phase} {point.caller} -> {point.callee} #{point.occurrence}"
    return f"{key} via {' > '.join(point.stack)}" if point.stack else key


def parse_point_key(text: str) -> Point:
    """The point of which `point_key` made `text`, without what identifies nothing (file, line, step, kind).

    Raises:
        UsageError: it is no such text.
    """
    found = _KEY.fullmatch(text)
    if found is None or found["level"] not in LEVELS or found["phase"] not in PHASES:
        raise UsageError(
            f"{text!r} is no fault point: it reads LEVEL PHASE module:caller -> module:callee #OCCURRENCE"
        )
    return Point(
        level=parse_level(found["level"]),
        phase=parse_phases(found["phase"])[0],
        caller=found["caller"],
        callee=found["callee"],
        occurrence=int(found["occurrence"]),
        stack=tuple(found["stack"].split(" > ")) if found["stack"] else (),
    )


def case_digest(target_name: str, point: Point, fault: str, times: int = 1, second: str = "") -> str:
    """All 64 hex characters of which a case id is the beginning."""
    text = "\n".join((target_name, point_key(point), fault, str(times), *((second,) if second else ())))
    # Here, since it brings OpenSSL into a process, and the processes of the cases need no ids.
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def case_id(target_name: str, point: Point, fault: str, times: int = 1, second: str = "") -> str:
    """The short stable id of a case, unchanged by an edit that only moves lines.

    Args:
        target_name: as the user wrote it.
        point: where.
        fault: its name in the catalogue, or a dotted path.
        times: 1 once, k a window of k calls, 0 persistent.
        second: what happens to a release of the clean-up, as `Case.second`.
    """
    return case_digest(target_name, point, fault, times, second)[:ID_LENGTH]


def make_cases(
    target_name: str,
    points: Iterable[Point],
    faults: Sequence[str],
    times: int = 1,
    seconds_at: Callable[[Point, str], Sequence[str]] | None = None,
) -> tuple[Case, ...]:
    """Every point with every fault, in the order of the points, each id once.

    Args:
        seconds_at: the second faults with which each fault at a point also makes a case. These come after all
            the others.

    Eight hex characters collide once in some hundred sweeps of 10,000 cases; the two that do get
    sixteen, of which the short id is still the beginning.
    """
    pairs = [(point, fault, "") for point in points for fault in faults]
    if seconds_at is not None:
        pairs += [(point, fault, second) for point, fault, _ in pairs for second in seconds_at(point, fault)]
    digests = [case_digest(target_name, point, fault, times, second) for point, fault, second in pairs]
    taken = Counter(digest[:ID_LENGTH] for digest in digests)
    return tuple(
        Case(
            digest[: ID_LENGTH if taken[digest[:ID_LENGTH]] == 1 else 2 * ID_LENGTH],
            point,
            fault,
            times,
            second,
        )
        for (point, fault, second), digest in zip(pairs, digests, strict=True)
    )


def split_second(second: str) -> tuple[str, str, str]:
    """Release, phase and fault of a second fault, ``NAME.METHOD/PHASE/FAULT``; unchecked."""
    place, _, fault = second.rpartition("/")
    release, _, phase = place.rpartition("/")
    return release, phase, fault


def describe_fault(fault: str, second: str = "") -> str:
    """``RuntimeError``, or ``RuntimeError, then KeyboardInterrupt before pool.close``."""
    if not second:
        return fault
    release, phase, other = split_second(second)
    return f"{fault}, then {other} {'in' if other == 'hang' else phase} {release}"


def find_case(target_name: str, cases: Sequence[Case], wanted: str) -> Case:
    """The one case whose id begins with `wanted`, or that `wanted` is a longer id of.

    Raises:
        UsageError: none, or more than one.
    """
    text = wanted.strip().lower()
    if not text:
        raise UsageError("no case id given: take one from a report")
    found = [
        case
        for case in cases
        if case.id.startswith(text)
        or (
            text.startswith(case.id)
            and case_digest(target_name, case.point, case.fault, case.times, case.second).startswith(text)
        )
    ]
    if len(found) == 1:
        return found[0]
    if found:
        some = ", ".join(case.id for case in found[:5])
        raise UsageError(f"case id {wanted!r} fits {len(found)} cases ({some}): give more of it")
    near = difflib.get_close_matches(text, [case.id for case in cases], n=3, cutoff=0.7)
    hint = f"; near: {', '.join(near)}" if near else ""
    raise UsageError(
        f"no case {wanted!r} among the {len(cases)} of {target_name}{hint}: "
        "give the level, phases and faults of the sweep that named it (and --second, if it had that)"
    )


def replay_command(identifier: str, words: Sequence[str]) -> str:
    """The command that runs one case again.

    Args:
        identifier: of the case.
        words: what comes after it, as of `faultinject.sweep.Options.replay_words`.
    """
    return shlex.join(["faultinject", "replay", identifier, *words])


def describe_point(point: Point) -> str:
    """A short form for people, such as ``before Scheduler.__init__ (EngineCore.__init__:174)``."""
    callee = point.callee if point.kind == "opcode" else short_name(point.callee)
    occurrence = f" #{point.occurrence}" if point.occurrence > 1 else ""
    line = f":{point.line}" if point.line else ""
    text = f"{point.phase} {callee}{occurrence} ({short_name(point.caller)}{line})"
    # The caller is named already; what tells one stack from another is what lies above it.
    above = point.stack[:-1] if point.stack and point.stack[-1] == point.caller else point.stack
    if above:
        shown = [short_name(name) for name in above]
        if len(shown) > 3:
            shown = [shown[0], "...", *shown[-2:]]
        text += f" via {' > '.join(shown)}"
    return text
