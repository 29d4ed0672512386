"""What the page's script reads: every case, by the cell of the matrix that it stands in.

Text is escaped where it is shown: the script puts it into the page as text, never as markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from faultinject._plain import plain
from faultinject.facts import CaseResult
from faultinject.matrix import Column, columns_of, label_of, word_of
from faultinject.points import describe_fault, describe_point, short_name, split_second
from faultinject.reports._html._tone import tone_of
from faultinject.reports._suite import Suite
from faultinject.reports._words import GRADES, clock, what_of

_ID: Final = "ID"


class Gain(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that the target comes to own at a step."""

    name: str
    step: int
    call: str
    line: int = 0
    amounts: tuple[str, ...] = ()
    release: str = ""


class CaseData(msgspec.Struct, frozen=True, omit_defaults=True):
    """A case, in words.

    Attributes:
        step: its row.
        column: its column; -1 for one with a second fault, which is in a cell of `release` and `label`.
        tone: as of `tone_of`.
        excused: why it is suppressed, if a gate's baseline lists its violations.
        wrong: each thing that is wrong with it: the verdict, and what.
        text: what a search looks at, beside the row's own words.
    """

    id: str
    step: int
    place: str
    fault: str
    verdict: str
    tone: str
    column: int = -1
    release: str = ""
    label: str = ""
    file: str = ""
    charged: str = ""
    violation: bool = False
    owned: tuple[str, ...] = ()
    released: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    grade: str = ""
    got: str = ""
    handled: str = ""
    second: str = ""
    second_reached: bool = False
    wrong: tuple[tuple[str, str], ...] = ()
    excused: str = ""
    seen: str = ""
    notes: tuple[str, ...] = ()


class SweepData(msgspec.Struct, frozen=True):
    """A sweep.

    Attributes:
        replay: the command that runs a case again, around its id.
    """

    target: str
    replay: tuple[str, str]
    gains: tuple[Gain, ...]
    cases: tuple[CaseData, ...]


def sweep_data(suite: Suite) -> SweepData:
    """All that the script is given of a sweep."""
    recording, results = suite.recording, suite.results
    excused = {result.id: suite.reasons[result.id] for result in suite.excused()}
    before, _, after = suite.replay(_ID).partition(_ID)
    numbers = {column: number for number, column in enumerate(columns_of(results))}
    return SweepData(
        target=plain(recording.target),
        replay=(before, after),
        gains=tuple(
            Gain(
                plain(row.name), row.step, plain(short_name(row.callee)), row.line, _all(row.amounts),
                plain(row.release),
            )
            for row in sorted(recording.owned, key=lambda row: row.step)
        ),
        cases=tuple(_case(result, numbers, excused.get(result.id, "")) for result in results),
    )  # fmt: skip


def _case(result: CaseResult, numbers: dict[Column, int], excused: str) -> CaseData:
    point = result.point
    release, label = (split_second(result.second)[0], label_of(result.second)) if result.second else ("", "")
    return CaseData(
        id=result.id,
        step=point.step,
        place=plain(describe_point(point)),
        fault=plain(describe_fault(result.fault, result.second)),
        verdict=result.verdict,
        tone="excused" if excused else tone_of(word_of(result)),
        column=-1 if result.second else numbers[Column(result.phase, result.fault, result.times)],
        release=plain(release),
        label=plain(label),
        file=plain(f"{point.file}:{point.line}" if point.file else ""),
        charged=plain(short_name(result.charged_to)) if result.charged_to else "",
        violation=result.violation,
        owned=_all(result.owned),
        released=_all(result.released),
        left=_all(result.left),
        grade=GRADES[result.grade] if result.grade is not None else "",
        got=plain(result.exception),
        handled=plain(short_name(result.handled_by)) if result.handled_by else "",
        second=plain(result.second),
        second_reached=result.second_reached,
        wrong=tuple(
            (
                problem.verdict,
                plain(what_of(problem))
                + ("" if problem.violation else f", charged to {plain(short_name(problem.charged_to))}"),
            )
            for problem in result.problems
        ),
        excused=plain(excused),
        seen=_seen(result),
        notes=_all(result.notes),
    )


def _seen(result: CaseResult) -> str:
    words = [f"by {result.runner}" if result.runner else "", f"in {clock(result.seconds)}"]
    if result.runs:
        words.append(f"runs: {', '.join(result.runs)}")
    if result.confirmed_by:
        words.append(f"confirmed by {result.confirmed_by}, of the same class")
    elif not result.confirmed:
        words.append("not confirmed")
    return plain(", ".join(word for word in words if word))


def _all(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(plain(name) for name in names)
