"""A reporter that keeps a sweep."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from faultinject.facts import CaseResult, Recording, Summary
from faultinject.reports._json import SCHEMA, Report
from faultinject.reports._protocol import Environment


class Kept:
    """Keeps what it is told, for whoever makes something of the whole.

    Args:
        earlier: cases of a report that is being resumed.
    """

    def __init__(self, *, earlier: Sequence[CaseResult] = ()) -> None:
        self.results: dict[str, CaseResult] = {result.id: result for result in earlier}
        self.recording: Recording | None = None
        self.environment: Environment | None = None
        self.summary: Summary | None = None

    def start(self, recording: Recording, environment: Environment, total: int) -> None:
        self.recording, self.environment = recording, environment

    def case(self, result: CaseResult) -> None:
        self.results[result.id] = result

    def progress(self, stage: str, done: int, total: int) -> None:
        """Nothing to keep of it."""

    def finish(self, summary: Summary) -> None:
        self.summary = summary

    def close(self) -> None:
        """Nothing to give back."""

    def report(self) -> Report | None:
        """What a report of this sweep alone holds, and be it a part of it; None where it was not begun."""
        recording, environment = self.recording, self.environment
        if recording is None or environment is None:
            return None
        return Report(
            SCHEMA,
            recording.target,
            recording.level,
            environment,
            recording.points,
            tuple(self.results.values()),
            msgspec.structs.replace(recording, points=()),
            self.summary,
        )
