"""Several reporters as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from faultinject.facts import CaseResult, Recording, Summary
from faultinject.reports._protocol import Environment, Reporter


class Reporters:
    """Passes everything on, in order; one that fails keeps none of the others from being told."""

    def __init__(self, reporters: Sequence[Reporter]) -> None:
        self.reporters = tuple(reporters)

    def start(self, recording: Recording, environment: Environment, total: int) -> None:
        self._all(lambda reporter: reporter.start(recording, environment, total))

    def case(self, result: CaseResult) -> None:
        self._all(lambda reporter: reporter.case(result))

    def progress(self, stage: str, done: int, total: int) -> None:
        self._all(lambda reporter: reporter.progress(stage, done, total))

    def finish(self, summary: Summary) -> None:
        self._all(lambda reporter: reporter.finish(summary))

    def close(self) -> None:
        self._all(lambda reporter: reporter.close())

    def _all(self, tell: Callable[[Reporter], None]) -> None:
        first: BaseException | None = None
        for reporter in self.reporters:
            try:
                tell(reporter)
            except BaseException as error:
                first = first or error
        if first is not None:
            raise first
