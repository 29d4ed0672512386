"""A reporter that keeps what it is told, and targets written to a directory."""

from __future__ import annotations

from pathlib import Path

from faultinject.facts import CaseResult, Recording, Summary
from faultinject.reports import Environment
from faultinject.sweep import Options, Sweep
from faultinject.targets import TargetSpec


class Collected:
    """Every word on every case, in the order in which it came."""

    def __init__(self) -> None:
        self.told: list[CaseResult] = []
        self.summary: Summary | None = None

    @property
    def results(self) -> dict[str, CaseResult]:
        return {result.id: result for result in self.told}

    @property
    def verdicts(self) -> dict[str, tuple[str, bool]]:
        return {result.id: (result.verdict, result.violation) for result in self.told}

    def start(self, recording: Recording, environment: Environment, total: int) -> None:
        self.recording = recording

    def case(self, result: CaseResult) -> None:
        self.told.append(result)

    def progress(self, stage: str, done: int, total: int) -> None: ...

    def finish(self, summary: Summary) -> None:
        self.summary = summary

    def close(self) -> None: ...


def swept(directory: Path, target: str, *, skip: tuple[CaseResult, ...] = (), **options: object) -> Collected:
    """Sweep a target of `directory`."""
    collected = Collected()
    chosen = {"faults": ("RuntimeError",), "jobs": 1, "settle": 0.05, "repeats": 1, **options}
    release = str(chosen.pop("release", ""))
    spec = TargetSpec(target, release, str(directory))
    Sweep(Options(target=spec, **chosen), collected, skip=skip).run()  # type: ignore[arg-type]
    return collected
