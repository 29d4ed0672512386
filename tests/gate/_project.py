"""A small project with a gate, in a directory of its own; and hand-made facts of the sample engine."""

from __future__ import annotations

import datetime
from pathlib import Path

from faultinject.gate import Baseline, Broken, GateSweep, Suppression, run_gate
from faultinject.gate._run import Ran
from faultinject.points import point_key
from faultinject.reports import Kept
from faultinject.sweep import Options
from faultinject.targets import TargetSpec
from tests.reports._sample import INIT, POINTS, TARGET

TODAY = datetime.date(2026, 6, 15)
TOMORROW = TODAY + datetime.timedelta(days=1)
YESTERDAY = TODAY - datetime.timedelta(days=1)

LEAKING = """\
import os


class Light:
    def __init__(self):
        self.fd = os.open(os.devnull, os.O_RDONLY)
        os.getppid()

    def close(self):
        os.close(self.fd)
"""
SOUND = LEAKING.replace(
    "        os.getppid()\n",
    "        try:\n            os.getppid()\n"
    "        except BaseException:\n            self.close()\n            raise\n",
)
LONGER = SOUND.replace("            os.getppid()\n", "            os.getppid()\n            os.getpid()\n")


def gate_sweep(folder: Path, text: str, *, record: Path | None = None, **options: object) -> GateSweep:
    """A sweep of a module with that text."""
    folder.mkdir(exist_ok=True)
    (folder / "light.py").write_text(text)
    chosen = {"faults": ("RuntimeError",), "jobs": 1, "settle": 0.05, "repeats": 1, **options}
    spec = TargetSpec("light:Light", "close" if "def close" in text else "", str(folder))
    return GateSweep(Options(target=spec, **chosen), folder / "matrices", record)  # type: ignore[arg-type]


def ran(sweep: GateSweep, *, budget: float = 0.0, seed: int | None = None) -> Ran:
    """The sweep, compared with the baseline that it has."""
    (made,) = run_gate([sweep], watch=lambda _: Kept(), today=TODAY, budget=budget, seed=seed)
    if isinstance(made, Broken):
        raise made.error
    return made


def suppression(*cases: str, **changes: object) -> Suppression:
    fields: dict[str, object] = {
        "verdict": "leak",
        "charged_to": INIT,
        "resources": ("executor",),
        "cases": cases,
        "reason": "known",
        "owner": "ann",
        "expires": TOMORROW,
    }
    return Suppression(**(fields | changes))  # type: ignore[arg-type]


def baseline(*rows: Suppression, **changes: object) -> Baseline:
    fields: dict[str, object] = {
        "format": 1,
        "target": TARGET,
        "level": "steps",
        "faults": ("RuntimeError", "KeyboardInterrupt"),
        "absent_probes": ("device memory",),
        "points": tuple(map(point_key, POINTS)),
        "suppression": rows,
    }
    return Baseline(**(fields | changes))  # type: ignore[arg-type]
