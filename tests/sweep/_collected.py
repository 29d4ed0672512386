"""A reporter that keeps what it is told, and targets written to a directory."""

from __future__ import annotations

from pathlib import Path

from faultinject.facts import CaseResult
from faultinject.reports import Kept
from faultinject.sweep import Options, Sweep
from faultinject.targets import TargetSpec


class Collected(Kept):
    """Every word on every case, in the order in which it came."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[CaseResult] = []

    @property
    def verdicts(self) -> dict[str, tuple[str, bool]]:
        return {result.id: (result.verdict, result.violation) for result in self.told}

    def case(self, result: CaseResult) -> None:
        super().case(result)
        self.told.append(result)


def swept(directory: Path, target: str, *, skip: tuple[CaseResult, ...] = (), **options: object) -> Collected:
    """Sweep a target of `directory`."""
    collected = Collected()
    chosen = {"faults": ("RuntimeError",), "jobs": 1, "settle": 0.05, "repeats": 1, **options}
    release = str(chosen.pop("release", ""))
    spec = TargetSpec(target, release, str(directory))
    Sweep(Options(target=spec, **chosen), collected, skip=skip).run()  # type: ignore[arg-type]
    return collected
