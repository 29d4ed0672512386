"""Reads a lifecycle matrix, and takes nothing that it does not know."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Final, get_args

import msgspec

from faultinject._reading import place, quoted, read_table, shown
from faultinject.errors import UsageError
from faultinject.facts import Level, Phase, Verdict
from faultinject.matrix._cells import NESTED

# Formats: 1 (0.1) the first.
FORMAT: Final = 1

Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class OwnedRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ``[[owned]]`` row. Attributes as of `faultinject.facts.Owned`."""

    name: str
    step: Count
    callee: str
    release: str = ""
    holder: str = ""
    order: Count = 0
    amounts: tuple[str, ...] = ()
    declared: bool = False


class StepRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ``[[step]]`` row.

    Attributes:
        caller: the own frame that makes the call, where it is not `Matrix.frame`.
        owned: names, in the order in which they came.
        must_release: the same names, in the order in which they must go.
        verdicts: by ``phase fault``, a verdict or how often each came.
    """

    number: Count
    callee: str
    line: Count = 0
    caller: str = ""
    owned: tuple[str, ...] = ()
    must_release: tuple[str, ...] = ()
    verdicts: dict[str, str | dict[str, Count]] = {}


class SecondRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ``[[second]]`` row.

    Attributes:
        step: where the first fault comes.
        release: ``NAME.METHOD`` of what is owned there.
        verdicts: by how the release fails, the verdict of all first faults, or how often each came.
        not_called: cases in which the release was not called.
    """

    step: Count
    release: str
    verdicts: dict[str, str | dict[str, Count]] = {}
    not_called: Count = 0


class SituationRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ``[[situation]]`` row: a fault that people speak of by a name. The first part is a person's.

    Attributes:
        name: what they call it.
        callee: the call at which the fault comes.
        phase: ``before`` or ``after``.
        second: ``NAME.METHOD/PHASE`` of a release that fails as well, or ``""``.
        step, owned, must_release: generated, as of `StepRow`.
        verdicts: generated: by fault.
    """

    name: str
    callee: str
    phase: Phase = "before"
    second: str = ""
    step: Count = 0
    owned: tuple[str, ...] = ()
    must_release: tuple[str, ...] = ()
    verdicts: dict[str, str] = {}


class Matrix(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A lifecycle matrix as it stands in its file.

    Attributes:
        frame: ``module:qualname`` of the target's own frame, which makes the calls; empty where an older
            faultinject wrote the file.
    """

    format: int
    target: str
    version: str = ""
    python: str = ""
    level: Level = "steps"
    frame: str = ""
    generated_by: str = ""
    declared: bool = False
    owned: tuple[OwnedRow, ...] = ()
    step: tuple[StepRow, ...] = ()
    second: tuple[SecondRow, ...] = ()
    situation: tuple[SituationRow, ...] = ()


def read_matrix(path: Path) -> Matrix:
    """Read a matrix, strictly.

    Raises:
        UsageError: no such file, no TOML, another format, an unknown key or verdict, a wrong type, a
            duplicate row, or a step that names what no ``[[owned]]`` row defines; with file and key.
    """
    matrix = read_table(path, Matrix, "matrix", FORMAT, "generate it again")
    _check(place(path), matrix)
    return matrix


def _check(path: str, matrix: Matrix) -> None:
    for (name, step), count in Counter((row.name, row.step) for row in matrix.owned).items():
        if count > 1:
            raise UsageError(
                f"{path}: owned: {count} rows are named {quoted(name)} and of step {step}: keep one"
            )
    for number, count in Counter(row.number for row in matrix.step).items():
        if count > 1:
            raise UsageError(f"{path}: step: {count} rows have number {number}: keep one")
    names = Counter(row.name for row in matrix.owned)
    for row in matrix.step:
        where = f"{path}: step {row.number}"
        for key, listed in (("owned", row.owned), ("must_release", row.must_release)):
            for name, times in Counter(listed).items():
                if name not in names:
                    raise UsageError(f"{where}: {key}: {quoted(name)} is in no [[owned]] row")
                if times > names[name]:
                    raise UsageError(f"{where}: {key}: {quoted(name)} is there more often than it has rows")
        _check_verdicts(where, row.verdicts)
    for (step, release), count in Counter((row.step, row.release) for row in matrix.second).items():
        if count > 1:
            raise UsageError(
                f"{path}: second: {count} rows have step {step} and release {quoted(release)}: keep one"
            )
    for second in matrix.second:
        _check_verdicts(f"{path}: second at step {second.step}, {shown(second.release)}", second.verdicts)
    for name, count in Counter(row.name for row in matrix.situation).items():
        if count > 1:
            raise UsageError(f"{path}: situation: {count} rows are named {quoted(name)}: keep one")


def _check_verdicts(where: str, verdicts: dict[str, str | dict[str, int]]) -> None:
    for column, cell in verdicts.items():
        for word in (cell,) if isinstance(cell, str) else cell:
            if word.removeprefix(NESTED) not in get_args(Verdict):
                known = ", ".join(get_args(Verdict))
                raise UsageError(
                    f"{where}: verdicts: {shown(column)}: unknown verdict {quoted(word)}: one of {known}"
                )
