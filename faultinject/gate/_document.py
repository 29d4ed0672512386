"""The gate as one JSON document, for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from faultinject.facts import Level
from faultinject.gate._print import status_of
from faultinject.gate._ruling import ruling_of
from faultinject.gate._run import Broken, Made
from faultinject.reports import Report, Ruling, encode, write_whole

GATE_SCHEMA: Final = "faultinject-gate/1"


class SweepDocument(msgspec.Struct, frozen=True):
    """One sweep of the gate: its ruling and its report, which one that could not be made has not."""

    target: str
    level: Level
    seed: int | None
    ruling: Ruling
    report: Report | None


class GateDocument(msgspec.Struct, frozen=True):
    """A gate; `status` is the one it exits with."""

    schema: str
    status: int
    sweeps: tuple[SweepDocument, ...]


def write_document(path: Path, everything: Sequence[Made]) -> None:
    """Write the document.

    Raises:
        UsageError: the file cannot be written.
    """
    document = GateDocument(GATE_SCHEMA, status_of(everything), tuple(map(_sweep, everything)))
    write_whole(path, encode(document) + b"\n", "json report")


def _sweep(made: Made) -> SweepDocument:
    options = made.sweep.options
    seed, report = (None, None) if isinstance(made, Broken) else (made.seed, made.report)
    return SweepDocument(options.target.name, options.level, seed, ruling_of(made), report)
