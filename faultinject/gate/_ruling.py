"""What a gate says of a sweep, for the screen and for every report."""

from __future__ import annotations

import datetime
import os
import re
from pathlib import Path
from typing import Final

from faultinject.facts import CaseResult, Recording
from faultinject.gate._baseline import Suppression
from faultinject.gate._changes import describe_keys, describe_moves
from faultinject.gate._compare import BROKEN, PASSED, Outcome
from faultinject.gate._run import Broken, GateSweep, Made, Ran
from faultinject.matrix import NOTHING_KNOWN
from faultinject.points import short_name
from faultinject.reports import (
    Change,
    Ruling,
    Suite,
    counted,
    describe_environment,
    place_of,
    repository_root,
    seen_from,
    some,
    summarise,
)
from faultinject.targets import find_pyproject

SHOWN: Final = 12
"""Fault points of one kind that are named; of more, how many."""

ACCEPT: Final = "review, then `faultinject gate --accept`"


def suite_of(ran: Made) -> Suite:
    """The sweep with its ruling, as the reports take it."""
    if isinstance(ran, Broken):
        return _nothing(ran)
    results = ran.report.cases
    return Suite(ran.recording, ran.environment, results, ran.summary, ruling_of(ran))


def ruling_of(ran: Made) -> Ruling:
    """The status, the changes in words, and what is excused."""
    if isinstance(ran, Broken):
        file, line = _named_at(ran.sweep)
        why = Change("broken", "it could not be swept", str(ran.error), file, line)
        return Ruling(status=BROKEN, baseline=shown(ran.sweep.baseline), changes=(why,))
    outcome = ran.outcome
    excused = {
        case: "; ".join(
            dict.fromkeys(f"suppressed until {row.expires} by {row.owner}: {row.reason}" for row in rows)
        )
        for case, rows in outcome.excused.items()
    }
    return Ruling(
        status=outcome.status,
        baseline=shown(ran.sweep.baseline),
        excused=excused,
        changes=(*_new(ran), *_listed(ran), *_changed(ran)),
        notes=(*_unknown(ran), *_elsewhere(ran)),
        found=len(ran.cases),
        ran=len(ran.report.cases),
    )


def shown(path: Path) -> str:
    """A path as of the root of the repository, where it lies in it."""
    root, real = repository_root(), os.path.realpath(path)
    seen = seen_from(real, root)
    return str(path) if seen == real else seen


def _nothing(broken: Broken) -> Suite:
    """A sweep of no case."""
    options = broken.sweep.options
    recording = Recording(options.target.name, options.level, points=(), steps=(), owned=())
    environment = describe_environment(
        runner=options.runner, faults=options.faults, replay=options.replay_words()
    )
    return Suite(recording, environment, (), summarise((), recording, complete=False), ruling_of(broken))


def _named_at(sweep: GateSweep) -> tuple[str, int]:
    """File and line that name the target of a sweep; ``""`` and 0 where there is none."""
    path = find_pyproject(os.path.abspath(sweep.options.target.directory))
    if path is None:
        return "", 0
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    name = sweep.options.target.name
    return shown(path), next((number for number, line in enumerate(lines, 1) if name in line), 1)


def _unknown(ran: Ran) -> list[str]:
    """Of which cases nothing is known, though they ran."""
    cases = [f"{one.id} {one.verdict}" for one in ran.report.cases if one.verdict in NOTHING_KNOWN]
    if not cases:
        return []
    return [f"nothing is known of {counted(len(cases), 'case')}: {some(cases, SHOWN)}"]


def _elsewhere(ran: Ran) -> list[str]:
    """Whether the baseline was made with another Python or version: why something may have changed."""
    before = ran.baseline
    if before is None or ran.outcome.status == PASSED:
        return []
    now = ".".join(ran.environment.python.split(".")[:2])
    return [
        f"the baseline is of {what}{was}, this is {what}{is_now}"
        for what, was, is_now in (("Python ", before.python, now), ("version ", before.version, ran.version))
        if was and is_now and was != is_now
    ]


def _new(ran: Ran) -> list[Change]:
    found: list[Change] = []
    root = repository_root()
    by_id = {result.id: result for result in ran.report.cases}
    mine: dict[tuple[object, ...], tuple[CaseResult, ...]] = {
        (key.verdict, key.charged_to, key.resources): results for key, results in ran.outcome.new.items()
    }
    new = {result.id for results in mine.values() for result in results}
    suite = Suite(ran.recording, ran.environment, ran.report.cases, ran.summary)
    for finding in suite.findings_of([by_id[case] for case in new]):
        results = mine.get((finding.verdict, finding.charged_to, frozenset(finding.resources)))
        if results is None:
            continue  # Another root of the same case, which is listed.
        place = place_of(finding, by_id[finding.smallest], ran.recording, root)
        text = f"such as {finding.place}; replay: {suite.replay(finding.smallest)}"
        title = f"{finding.verdict}, {counted(len(results), 'case')}: {finding.handler}"
        found.append(Change("new", title, text, place.file, place.line))
    return found


def _listed(ran: Ran) -> list[Change]:
    """What is wrong with the suppressions themselves, at their lines of the baseline."""
    found: list[Change] = []
    lines = _lines(ran.sweep.baseline)
    rows = ran.baseline.suppression if ran.baseline is not None else ()
    where = {id(row): lines[number] if number < len(lines) else 1 for number, row in enumerate(rows)}
    file = shown(ran.sweep.baseline)
    for stale in ran.outcome.stale:
        row = stale.suppression
        parts = []
        if stale.fixed:
            parts.append(f"{len(stale.fixed)} of its {counted(len(row.cases), 'case')} fixed")
        if stale.gone:
            parts.append(f"{len(stale.gone)} of its {counted(len(row.cases), 'case')} gone")
        title = f"{_root(row)}: {', '.join(parts)}, and still listed"
        text = f"{some((*stale.fixed, *stale.gone), 6)}: `faultinject gate --accept` takes them off"
        found.append(Change("fixed", title, text, file, where[id(row)]))
    for row in ran.outcome.expired:
        title = f"{_root(row)}: the suppression was good until {row.expires}"
        text = f"{row.owner} was to fix it ({row.reason}): fix it, or agree on another day in the file"
        found.append(Change("expired", title, text, file, where[id(row)]))
    return found


def _changed(ran: Ran) -> list[Change]:
    outcome = ran.outcome
    file = shown(ran.sweep.baseline)
    if not outcome.known:
        points = counted(len(ran.recording.points), "fault point")
        text = f"{points}, {counted(len(ran.recording.owned), 'thing')} owned: {ACCEPT}, and commit the file"
        return [Change("changed", f"there is no baseline {file} yet", text)]
    found: list[Change] = []
    for what, number, lines in (
        ("appeared", len(outcome.points.appeared), describe_keys(outcome.points.appeared)),
        ("vanished", len(outcome.points.vanished), describe_keys(outcome.points.vanished)),
        ("moved", len(outcome.points.moved), describe_moves(outcome.points.moved)),
    ):
        if number:
            title = f"{counted(number, 'fault point')} {what}"
            found.append(Change("changed", title, f"{some(lines, SHOWN)}: {ACCEPT}", file, 1))
    if outcome.owned:
        title = f"ownership: {counted(len(outcome.owned), 'change')}"
        found.append(Change("changed", title, f"{some(outcome.owned, SHOWN)}: {ACCEPT}", file, 1))
    if outcome.looked:
        title = "what is injected, or looked at, is not what it was"
        found.append(Change("changed", title, f"{some(outcome.looked, SHOWN)}: {ACCEPT}", file, 1))
    return found


def near_ends(outcome: Outcome, today: datetime.date) -> list[str]:
    """Suppressions that expire soon, in words."""
    return [
        f"{_root(row)}: the suppression expires in {counted((row.expires - today).days, 'day')}, on "
        f"{row.expires} ({row.owner})"
        for row in outcome.soon
    ]


def _root(row: Suppression) -> str:
    resources = f" of {', '.join(row.resources)}" if row.resources else ""
    return f"{row.verdict}{resources} charged to {short_name(row.charged_to)}"


def _lines(path: Path) -> list[int]:
    """Line numbers of the ``[[suppression]]`` rows of a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    return [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if re.fullmatch(r"\s*\[\[\s*suppression\s*\]\]\s*(#.*)?", line)
    ]
