"""The sample sweep as a suite, alone and with the ruling of a gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from faultinject.facts import CaseResult
from faultinject.reports import Change, Ruling, Suite, summarise
from tests.reports._sample import ENVIRONMENT, RECORDING, sweep

BASELINE = "matrices/acme.steps.baseline.toml"
WHY = "suppressed until 2030-01-01 by ops: the pool waits"
CHANGES = (
    Change("new", "leak, 3 cases: no handler", "replay it", "acme/engine.py", 23),
    Change("fixed", "leak of executor: 2 of its 4 cases fixed", "take them off", BASELINE, 12),
    Change("expired", "leak of scheduler: good until 2020-01-01", "fix it", BASELINE, 20),
    Change("changed", "1 fault point appeared", "before close (Engine.__init__)", BASELINE, 1),
)


def suite(results: list[CaseResult] | None = None, *, root: Path | None = None, **ruling: Any) -> Suite:
    """The sample; its files lie in `root`, if one is given."""
    found = sweep() if results is None else results
    recording = RECORDING
    if root is not None:
        found = [msgspec.structs.replace(r, point=_in(root, r.point)) for r in found]
        steps = tuple(msgspec.structs.replace(s, file=str(root / "acme/engine.py")) for s in recording.steps)
        recording = msgspec.structs.replace(recording, steps=steps)
    given = Ruling(**({"status": 1, "baseline": BASELINE} | ruling)) if ruling else None
    return Suite(recording, ENVIRONMENT, tuple(found), summarise(found, recording), given)


def gated(*, steps: tuple[int, ...] = (3, 4, 5), **ruling: Any) -> Suite:
    """The sample after a gate: its violations at these steps are suppressed."""
    excused = {r.id: WHY for r in sweep() if r.violation and r.point.step in steps}
    return suite(excused=excused, **({"found": 20, "ran": 20} | ruling))


def _in(root: Path, point: Any) -> Any:
    return msgspec.structs.replace(point, file=str(root / point.file))
