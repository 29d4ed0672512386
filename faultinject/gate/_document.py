"""The gate as one JSON document, for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from faultinject.facts import Level
from faultinject.gate._print import status_of
from faultinject.gate._ruling import ruling_of
from faultinject.gate._run import Ran
from faultinject.reports import Report, Ruling, encode, write_whole

GATE_SCHEMA: Final = "faultinject-gate/1"


class SweepDocument(msgspec.Struct, frozen=True):
    """One sweep of the gate: its ruling and its report."""

    target: str
    level: Level
    seed: int | None
    ruling: Ruling
    report: Report


class GateDocument(msgspec.Struct, frozen=True):
    """A gate; `status` is the one it exits with."""

    schema: str
    status: int
    sweeps: tuple[SweepDocument, ...]


def write_document(path: Path, all_ran: Sequence[Ran]) -> None:
    """Write the document.

    Raises:
        UsageError: the file cannot be written.
    """
    sweeps = tuple(
        SweepDocument(ran.recording.target, ran.recording.level, ran.seed, ruling_of(ran), ran.report)
        for ran in all_ran
    )
    write_whole(path, encode(GateDocument(GATE_SCHEMA, status_of(all_ran), sweeps)) + b"\n", "json report")
