"""Somebody else's segment removed. The classes are in `_foreign_segment`, which owns that segment."""

from __future__ import annotations

from tests.corpus._specimen import Specimen, at

_ME = "tests.corpus._foreign_segment"
SPECIMENS = (
    Specimen(
        f"{_ME}:RemovesForeignSegment",
        "foreign segment",
        "removes a segment that it only attached to",
        (at("*:configure", "wrong-release"),),
    ),
    Specimen(f"{_ME}:LeavesForeignSegment", "foreign segment"),
)
