"""The lifecycle matrix: what is owned at each step, what must be released there, and what was seen."""

from __future__ import annotations

from faultinject.matrix._cells import (
    NESTED,
    NOTHING_KNOWN,
    PLAIN,
    Column,
    columns_of,
    fault_rank,
    tabulate,
    word_of,
)
from faultinject.matrix._merge import compare_ownership, declaration, declared_owned, merge, update_matrix
from faultinject.matrix._ownership import must_release_at, owned_at, release_order
from faultinject.matrix._read import FORMAT, Matrix, OwnedRow, SituationRow, StepRow, read_matrix
from faultinject.matrix._second import SecondCell, by_release, label_of, label_order, tabulate_second
from faultinject.matrix._toml import Lines, comment, toml_lines
from faultinject.matrix._versions import VersionRow, VersionTotals, in_order, totals, version_rows
from faultinject.matrix._write import format_matrix, matrix_path, write_matrix

__all__ = [
    "FORMAT",
    "NESTED",
    "NOTHING_KNOWN",
    "PLAIN",
    "Column",
    "Lines",
    "Matrix",
    "OwnedRow",
    "SecondCell",
    "SituationRow",
    "StepRow",
    "VersionRow",
    "VersionTotals",
    "by_release",
    "columns_of",
    "comment",
    "compare_ownership",
    "declaration",
    "declared_owned",
    "fault_rank",
    "format_matrix",
    "in_order",
    "label_of",
    "label_order",
    "matrix_path",
    "merge",
    "must_release_at",
    "owned_at",
    "read_matrix",
    "release_order",
    "tabulate",
    "tabulate_second",
    "toml_lines",
    "totals",
    "update_matrix",
    "version_rows",
    "word_of",
    "write_matrix",
]
