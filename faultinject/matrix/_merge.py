"""Where inference and a declared table meet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from faultinject._reading import check_inside
from faultinject.errors import UsageError
from faultinject.facts import CaseResult, Owned, Recording, Step
from faultinject.matrix._read import Matrix, OwnedRow, SituationRow, read_matrix
from faultinject.matrix._write import matrix_path, write_matrix


def declared_owned(matrix: Matrix) -> tuple[Owned, ...]:
    """The rows that a person declared: all where the table is declared, otherwise those so marked."""
    return tuple(_to_owned(row) for row in matrix.owned if matrix.declared or row.declared)


def compare_ownership(found: Iterable[Owned], declared: Iterable[Owned], *, whole: bool = False) -> list[str]:
    """How the inferred table differs from a declared one, in plain words; empty if it does not.

    Args:
        found: what the recording infers.
        declared: what a person wrote down.
        whole: the declared table is meant to be complete, so what it lacks is a difference too.
    """
    table = list(found)
    differences: list[str] = []
    met: list[Owned] = []
    for owned in declared:
        seen = _partner(owned, table)
        if seen is None:
            differences.append(f"{owned.name}: declared from {_place(owned)} on, but not found")
            continue
        met.append(seen)
        if seen.callee != owned.callee:
            differences.append(
                f"{owned.name}: declared from {_place(owned)} on, found from {_place(seen)} on"
            )
        for key in ("release", "holder"):
            said, saw = getattr(owned, key), getattr(seen, key)
            if said and said != saw:
                differences.append(f"{owned.name}: {key} declared as {said}, found {saw or 'none'}")
        if owned.order and seen.order and owned.order != seen.order:
            differences.append(f"{owned.name}: order declared as {owned.order}, found {seen.order}")
    if whole:
        differences += [
            f"{owned.name}: found from {_place(owned)} on, but not declared"
            for owned in table
            if owned not in met
        ]
    return differences


def merge(recording: Recording, matrix: Matrix) -> Recording:
    """The recording with the ownership that the matrix declares; unchanged where it declares none.

    A declared row takes the place of the found row of its name, or is added. It belongs to the call it
    names: the step's number is followed only where that call is made more than once, so that an edit of
    the target above it does not move it.

    Raises:
        UsageError: the matrix is of another target, or a declared row names a call that the target does
            not make.
    """
    if matrix.target != recording.target:
        raise UsageError(f"the matrix is of target {matrix.target!r}, not of {recording.target!r}")
    declared = [_anchor(owned, recording.steps, recording.target) for owned in declared_owned(matrix)]
    if not declared:
        return recording
    partners = [_partner(owned, recording.owned) for owned in declared]
    kept = [] if matrix.declared else [owned for owned in recording.owned if owned not in partners]
    filled = [_fill(owned, partner) for owned, partner in zip(declared, partners, strict=True)]
    table = tuple(sorted([*kept, *filled], key=lambda owned: (owned.step, owned.name)))
    return msgspec.structs.replace(recording, owned=table)


def declaration(directory: Path, target: str) -> Callable[[Recording], Recording]:
    """What makes a recording hold the ownership table that is declared for the target in a folder.

    Raises:
        UsageError: as of `read_matrix` and `check_inside`; the function itself, as of `merge`.
    """
    matrix = read_matrix(check_inside(matrix_path(directory, target), directory, "matrix"))
    return lambda recording: merge(recording, matrix)


def update_matrix(
    path: Path,
    recording: Recording,
    results: Iterable[CaseResult] | None = None,
    *,
    version: str = "",
    python: str = "",
    command: str = "",
) -> list[str]:
    """Generate a matrix in place of an older one, keeping what a person declared there.

    Returns:
        How inference and declaration differ, in plain words.

    Raises:
        UsageError: as of `read_matrix`, `merge` and `write_matrix`.
    """
    differences: list[str] = []
    whole = False
    merged = recording
    situations: tuple[SituationRow, ...] = ()
    if path.exists():
        old = read_matrix(path)
        situations = old.situation
        merged, whole = merge(recording, old), old.declared
        differences = compare_ownership(recording.owned, declared_owned(old), whole=whole)
    write_matrix(
        path, merged, results, version=version, python=python, command=command, declared_table=whole,
        situations=situations,
    )  # fmt: skip
    return differences


def _partner(owned: Owned, found: Sequence[Owned]) -> Owned | None:
    """The found row that a declared one speaks of: of its name, and of its call where that is not enough."""
    named = [row for row in found if row.name == owned.name]
    same_call = [row for row in named if row.callee == owned.callee]
    best = same_call or (named if len(named) == 1 else [])
    return min(best, key=lambda row: abs(row.step - owned.step), default=None)


def _to_owned(row: OwnedRow) -> Owned:
    return Owned(
        name=row.name,
        step=row.step,
        callee=row.callee,
        release=row.release,
        holder=row.holder,
        amounts=row.amounts,
        order=row.order,
        source="declared",
    )


def _anchor(owned: Owned, steps: Sequence[Step], target: str) -> Owned:
    calls = [step for step in steps if step.callee == owned.callee]
    if not calls:
        raise UsageError(
            f"the matrix of {target} declares {owned.name!r} from {owned.callee!r}, a call the target "
            "does not make: see `faultinject discover`, then correct or remove the row"
        )
    step = min(calls, key=lambda step: abs(step.number - owned.step))
    return msgspec.structs.replace(owned, step=step.number, line=step.line)


def _fill(owned: Owned, found: Owned | None) -> Owned:
    """What the declaration leaves open is taken from the recording; amounts are measured, never declared."""
    if found is None:
        return owned
    return msgspec.structs.replace(
        owned,
        release=owned.release or found.release,
        holder=owned.holder or found.holder,
        amounts=found.amounts or owned.amounts,
        order=owned.order or found.order,
        made_in=found.made_in,
    )


def _place(owned: Owned) -> str:
    return f"step {owned.step} ({owned.callee})"
