"""What of a gate has run on this machine: by fault point, the code that was there then.

Kept in ``.faultinject/``, for `--budget`. It may be lost, or be carried from run to run by a cache; what it
says only decides what comes first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from faultinject._reading import TABLE_LIMIT, decode_json, read_bytes
from faultinject._writing import replace_file
from faultinject.errors import UsageError

SCHEMA: Final = "faultinject-gate-record/1"


class Record(msgspec.Struct, frozen=True):
    """What has run.

    Attributes:
        runs: how often the gate has.
        points: by key, the digest of the code that was there.
        failing: ids of cases that the gate failed for, and that were not seen to be right since.
    """

    schema: str = SCHEMA
    runs: int = 0
    points: dict[str, str] = {}
    failing: tuple[str, ...] = ()


def read_record(path: Path | None) -> Record:
    """The record, or an empty one where there is none that can be used."""
    if path is None:
        return Record()
    with contextlib.suppress(UsageError, msgspec.MsgspecError):
        found = decode_json(read_bytes(path, "record of the gate", TABLE_LIMIT), Record)
        if found.schema == SCHEMA:
            return found
    return Record()


def write_record(
    path: Path | None,
    record: Record,
    ran: Mapping[str, str],
    there: frozenset[str],
    failing: Iterable[str] = (),
) -> None:
    """Add what ran, and forget the points that are there no more; nothing where it cannot be written."""
    if path is None:
        return
    points = {key: digest for key, digest in {**record.points, **ran}.items() if key in there}
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(
            path, msgspec.json.encode(Record(SCHEMA, record.runs + 1, points, tuple(sorted(failing))))
        )
