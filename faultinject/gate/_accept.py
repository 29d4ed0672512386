"""Takes what a person has reviewed into a baseline."""

from __future__ import annotations

import datetime
import sys
from typing import NamedTuple

import msgspec

from faultinject.errors import UsageError
from faultinject.facts import CaseResult
from faultinject.gate._baseline import FORMAT, Baseline, Suppression
from faultinject.gate._changes import ORDERED, owned_rows
from faultinject.gate._compare import key_of
from faultinject.gate._run import Ran
from faultinject.points import describe_fault, point_key, short_name
from faultinject.reports import Root


class Grant(NamedTuple):
    """Why violations may stay, who is to fix them, and the last day on which they may stay."""

    reason: str
    owner: str
    expires: datetime.date


def parse_grant(reason: str, owner: str, expires: str, today: datetime.date) -> Grant | None:
    """The grant that was given, or None for none.

    Raises:
        UsageError: a part of it is missing, or the day is none or over.
    """
    given = {"--reason": reason.strip(), "--owner": owner.strip(), "--expires": expires.strip()}
    missing = [name for name, text in given.items() if not text]
    if len(missing) == len(given):
        return None
    if missing:
        raise UsageError(
            f"a suppression has a reason, an owner and a last day: give {', '.join(missing)} too"
        )
    try:
        day = datetime.date.fromisoformat(given["--expires"])
    except ValueError:
        raise UsageError(f"--expires {expires!r} is no day: write it as 2027-01-31") from None
    if day < today:
        raise UsageError(f"--expires {day} is over: give a day to come")
    return Grant(given["--reason"], given["--owner"], day)


def accept(ran: Ran, grant: Grant | None, today: datetime.date) -> Baseline:
    """The baseline after a review.

    Fault points, ownership and what is injected become those of the sweep. Suppressed cases that are fixed,
    or that are there no more, go. A new violation is taken in only with a grant, or where a suppression with
    the same root already has one; expired ones stay as they are, for a person to decide.

    Args:
        ran: the sweep, compared with the baseline so far.
        grant: of the new violations.
        today: decides which suppressions still speak for others.
    """
    recording = ran.recording
    keys = [point_key(point) for point in recording.points]
    return Baseline(
        format=FORMAT,
        target=recording.target,
        level=recording.level,
        version=ran.version,
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        generated_by="faultinject gate --accept",
        faults=ran.environment.faults,
        absent_probes=tuple(sorted(ran.environment.absent_probes)),
        points=tuple(keys if recording.level in ORDERED else sorted(keys)),
        owned=owned_rows(recording.owned),
        suppression=_suppressions(ran, grant, today),
    )


def _suppressions(ran: Ran, grant: Grant | None, today: datetime.date) -> tuple[Suppression, ...]:
    before = ran.baseline.suppression if ran.baseline is not None else ()
    over = {id(stale.suppression): {*stale.fixed, *stale.gone} for stale in ran.outcome.stale}
    rows = [
        msgspec.structs.replace(
            row, cases=tuple(c for c in row.cases if c.partition(" ")[0] not in over.get(id(row), ()))
        )
        for row in before
    ]
    rows = [row for row in rows if row.cases]
    place = {case: number for number, case in enumerate(ran.cases)}
    speaking = {row.root: number for number, row in enumerate(rows) if row.expires >= today}
    for root, results in ran.outcome.new.items():
        cases = tuple(_case(result) for result in sorted(results, key=lambda one: place[one.id]))
        if key_of(root) in speaking:
            number = speaking[key_of(root)]
            rows[number] = msgspec.structs.replace(rows[number], cases=(*rows[number].cases, *cases))
        elif grant is not None:
            rows.append(_suppression(root, cases, grant))
    return tuple(rows)


def _suppression(root: Root, cases: tuple[str, ...], grant: Grant) -> Suppression:
    return Suppression(
        verdict=root.verdict,
        charged_to=root.charged_to,
        resources=key_of(root)[2],
        cases=cases,
        reason=grant.reason,
        owner=grant.owner,
        expires=grant.expires,
    )


def _case(result: CaseResult) -> str:
    """The id, and what a reader of the file makes something of; no line, which moves with every edit."""
    point = result.point
    fault = describe_fault(result.fault, result.second)
    return f"{result.id} {point.phase} {short_name(point.callee)}, {fault}"
