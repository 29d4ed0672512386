"""Situations: faults that people speak of by a name, such as "the scheduler's constructor raises".

A person writes the name, the call and the phase into the matrix; what is owned there, what must be released
and the verdicts are generated with the rest of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from faultinject.errors import UsageError
from faultinject.facts import CaseResult, Owned, Recording
from faultinject.matrix._cells import fault_rank, word_of
from faultinject.matrix._ownership import must_release_at, owned_at
from faultinject.matrix._read import SituationRow
from faultinject.points import split_second


def fill_situations(
    rows: Iterable[SituationRow], recording: Recording, results: Sequence[CaseResult]
) -> tuple[SituationRow, ...]:
    """The rows with their generated part as of `recording` and `results`.

    Raises:
        UsageError: a situation names a call that the target does not make.
    """
    return tuple(_filled(row, recording, results) for row in rows)


def _filled(row: SituationRow, recording: Recording, results: Sequence[CaseResult]) -> SituationRow:
    step = _step_of(row, recording)
    verdicts: dict[str, Counter[str]] = {}
    for result in results:
        if result.point.step == step and result.phase == row.phase and _fails_as_well(result) == row.second:
            verdicts.setdefault(result.fault, Counter())[word_of(result)] += 1
    owned: tuple[Owned, ...] = owned_at(recording.owned, step)
    return msgspec.structs.replace(
        row,
        step=step,
        owned=tuple(one.name for one in owned),
        must_release=tuple(one.name for one in must_release_at(recording.owned, step)),
        verdicts={
            fault: " ".join(sorted(words))
            for fault, words in sorted(verdicts.items(), key=lambda item: fault_rank(item[0]))
        },
    )


def _step_of(row: SituationRow, recording: Recording) -> int:
    """Number of the first step that makes the call, in the row's phase.

    A call within which others are numbered has two numbers: the first is `before` it, the last `after`.
    """
    points = [p for p in recording.points if p.callee == row.callee and p.phase == row.phase]
    if not points:
        raise UsageError(
            f"situation {row.name!r}: {recording.target} makes no call of {row.callee!r}: "
            "see `faultinject discover`, then correct or remove the row"
        )
    return min(points, key=lambda p: (p.occurrence, p.step)).step


def _fails_as_well(result: CaseResult) -> str:
    """``NAME.METHOD/PHASE`` of the second fault of a case."""
    if not result.second:
        return ""
    release, phase, _ = split_second(result.second)
    return f"{release}/{phase}"
