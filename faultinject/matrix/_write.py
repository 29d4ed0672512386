"""Writes a lifecycle matrix as TOML.

By hand: the grammar is small, and the layout (one row a block, keys in one order, nothing that changes
from run to run) is what keeps the differences between two versions of a target small.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from faultinject._reading import place, reason
from faultinject._writing import replace_file
from faultinject.errors import UsageError
from faultinject.facts import CaseResult, Level, Owned, Recording, Step
from faultinject.matrix._cells import Column, columns_of, tabulate
from faultinject.matrix._ownership import must_release_at, owned_at
from faultinject.matrix._read import FORMAT, SituationRow
from faultinject.matrix._second import SecondCell, label_order, tabulate_second
from faultinject.matrix._situations import fill_situations
from faultinject.matrix._toml import comment, toml_lines

_HEAD: Final = """\
# The lifecycle matrix of {target}.
# [[owned]]: what it owns, and from which of its calls on. A row with `declared = true` is kept by the next
# generation and overrides what the recording infers; `declared = true` up here does so for the whole table.
# [[step]]: each call it makes, what it owns when a fault comes there (before the call, or at the call's end),
# what must be released, first thing first, and the verdicts of the last sweep.
# Formats: 1 the first.
"""

_SECOND_HEAD: Final = """\
# [[second]]: the verdicts of a fault at that step where that release of the clean-up fails as well, in its
# place (before), its work done (after), or by never coming back (hang).
"""


_SITUATION_HEAD: Final = """\
# [[situation]]: faults with a name. Name, callee, phase and second (a release that fails too) a person wrote,
# and the next generation keeps them; the rest is generated.
"""


def matrix_path(directory: Path, target: str) -> Path:
    """Where the matrix of a target lies: ``<directory>/<target>.toml``, odd characters made dashes."""
    slug = re.sub(r"[^A-Za-z0-9._]+", "-", target).strip("-.") or "target"
    return directory / f"{slug}.toml"


def format_matrix(
    recording: Recording,
    results: Iterable[CaseResult] | None = None,
    *,
    version: str = "",
    python: str = "",
    command: str = "",
    declared_table: bool = False,
    situations: Iterable[SituationRow] = (),
) -> str:
    """The text of a matrix.

    Args:
        recording: what an unharmed run showed, already merged with a declared table if there is one.
        results: judged cases, or none where it was not swept.
        version: of the package the target comes from.
        python: such as ``3.11``.
        command: what generated it; ``faultinject matrix TARGET`` by default.
        declared_table: mark the whole ownership table as declared.
        situations: rows to fill and to write.

    Raises:
        UsageError: as of `fill_situations`.
    """
    judged = [] if results is None else list(results)
    header = {
        "format": FORMAT,
        "target": recording.target,
        "version": version,
        "python": python,
        "level": recording.level,
        **({"frame": recording.frame} if recording.frame else {}),
        "generated_by": command or f"faultinject matrix {recording.target}",
    }
    blocks = [_HEAD.format(target=comment(recording.target)) + toml_lines(header)]
    if declared_table:
        blocks[0] += "declared = true\n"
    blocks += [_owned(row, mark=not declared_table) for row in _sorted(recording.owned)]
    cells, columns = tabulate(judged), columns_of(judged)
    steps = {step.number: step for step in recording.steps}
    # Points outside any call of the target's (level `opcodes`) have step 0 and need a row for their verdicts.
    for number in sorted({*steps, *cells}):
        step = steps.get(number, Step(number, "", 0))
        blocks.append(_step(step, recording, cells.get(number, {}), columns))
    seconds = [_second(number, release, cell) for (number, release), cell in tabulate_second(judged).items()]
    if seconds:
        blocks += [_SECOND_HEAD + seconds[0], *seconds[1:]]
    named = [_situation(row) for row in fill_situations(situations, recording, judged)]
    if named:
        blocks += [_SITUATION_HEAD + named[0], *named[1:]]
    return "\n".join(blocks)


def write_matrix(
    path: Path,
    recording: Recording,
    results: Iterable[CaseResult] | None = None,
    *,
    version: str = "",
    python: str = "",
    command: str = "",
    declared_table: bool = False,
    situations: Iterable[SituationRow] = (),
) -> None:
    """Write a matrix, replacing the file in one step. The arguments are those of `format_matrix`.

    Raises:
        UsageError: the file cannot be written.
    """
    text = format_matrix(
        recording,
        results,
        version=version,
        python=python,
        command=command,
        declared_table=declared_table,
        situations=situations,
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode("utf-8"))
    except OSError as error:
        raise UsageError(f"cannot write the matrix {place(path)}: {reason(error)}") from error


def _sorted(owned: Iterable[Owned]) -> list[Owned]:
    return sorted(owned, key=lambda o: (o.step, o.name))


def _owned(row: Owned, *, mark: bool) -> str:
    values: dict[str, object] = {"name": row.name, "step": row.step, "callee": row.callee}
    values |= {"release": row.release, "holder": row.holder, "order": row.order}
    values["amounts"] = list(row.amounts)
    if mark and row.source == "declared":
        values["declared"] = True
    return f"[[owned]]\n{toml_lines(values)}"


def _step(
    step: Step,
    recording: Recording,
    cells: Mapping[Column, Counter[str]],
    columns: Sequence[Column],
) -> str:
    values: dict[str, object] = {"number": step.number, "callee": step.callee, "line": step.line}
    if step.caller not in ("", recording.frame):
        values["caller"] = step.caller
    values["owned"] = [o.name for o in owned_at(recording.owned, step.number)]
    values["must_release"] = [o.name for o in must_release_at(recording.owned, step.number)]
    if cells:
        values["verdicts"] = {c.label: _cell(cells[c], recording.level) for c in columns if c in cells}
    return f"[[step]]\n{toml_lines(values)}"


def _second(number: int, release: str, cell: SecondCell) -> str:
    values: dict[str, object] = {"step": number, "release": release}
    if cell.words:
        values["verdicts"] = {
            label: next(iter(words)) if len(words) == 1 else {word: words[word] for word in sorted(words)}
            for label, words in sorted(cell.words.items(), key=lambda item: label_order(item[0]))
        }
    if cell.not_called:
        values["not_called"] = cell.not_called
    return f"[[second]]\n{toml_lines(values)}"


def _situation(row: SituationRow) -> str:
    values: dict[str, object] = {"name": row.name, "callee": row.callee, "phase": row.phase}
    if row.second:
        values["second"] = row.second
    values |= {"step": row.step, "owned": list(row.owned), "must_release": list(row.must_release)}
    if row.verdicts:
        values["verdicts"] = row.verdicts
    return f"[[situation]]\n{toml_lines(values)}"


def _cell(words: Counter[str], level: Level) -> object:
    if level == "steps" and words.total() == 1:
        return next(iter(words))
    return {word: words[word] for word in sorted(words)}
