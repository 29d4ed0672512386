"""The same flow at the pace of whoever asks: one target kept ready, its cases judged as they are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self

import msgspec

from faultinject.facts import Case, CaseResult, Observation, Recording
from faultinject.reports import Reporters
from faultinject.runners import Pool
from faultinject.sweep._options import Options
from faultinject.sweep._sweep import Adjust, Sweep, pool_of


class Judged(msgspec.Struct, frozen=True):
    """A case, judged, and what was seen of it."""

    result: CaseResult
    observation: Observation | None


class CaseByCase:
    """A context manager: entering it records the target, leaving it ends every process.

    Args:
        options: what is asked for. Where cases are screened by fork, one screen has all that `expect` names.
        adjust: as of `Sweep`.
        pool: lanes that are there already; they stay the caller's to end.

    Attributes:
        recording: what the unharmed runs showed.
        cases: every case of them, in the order of the points.
        modules: by name, the file of each module that `Options.cover` fits.

    Raises:
        TargetError, UsageError: on entering; see `Pool` and `discover`.
    """

    recording: Recording
    cases: tuple[Case, ...]
    modules: dict[str, str]

    def __init__(self, options: Options, *, adjust: Adjust | None = None, pool: Pool | None = None) -> None:
        self.options = options
        self._sweep = Sweep(options, Reporters(()), adjust=adjust)
        self._sweep.observed = {}
        self._lent = pool
        self._pool: Pool | None = None
        self._expected: dict[str, Case] = {}
        self._asked: set[str] = set()

    def __enter__(self) -> Self:
        pool = self._pool = self._lent or pool_of(self.options, self.options.lanes).__enter__()
        try:
            self.cases = tuple(self._sweep.prepare(pool))
        except BaseException:
            self.close()
            raise
        assert self._sweep.recording is not None
        self.recording = self._sweep.recording
        self.modules = pool.modules
        forked, _ = self._sweep.split(pool, self.cases)
        self._forked = {case.id for case in forked}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the lanes. Safe to call twice, and at any time: a case on its way is ended too."""
        pool, self._pool = self._pool, None
        if pool is not None and self._lent is None:
            pool.close()

    @property
    def stages(self) -> dict[str, float]:
        """Seconds by stage, so far."""
        return self._sweep.stages

    def expect(self, cases: Iterable[Case]) -> None:
        """Say which cases will be asked for."""
        self._expected = {case.id: case for case in cases}

    def judge(self, cases: Sequence[Case]) -> list[Judged]:
        """Judge these cases, as many at a time as there are lanes. Asked again, a case is run again.

        Raises:
            TargetError: a case ended the process that ran it, and its lane; the flow has to be begun anew.
        """
        pool = self._pool
        if pool is None:
            raise RuntimeError("the flow is closed: enter it first")
        sweep = self._sweep
        screened = [case for case in cases if case.id in self._forked and case.id not in self._asked]
        whole = [case for case in cases if case not in screened]
        self._asked |= {case.id for case in cases}
        sweep.forget(whole)
        try:
            self._screen(pool, screened)
            sweep.settle(pool, screened, whole, cases)
        except BaseException:
            # A lane may still be at work, and its next answer would be that of another case.
            self.close()
            raise
        observed = sweep.observed or {}
        return [Judged(sweep.results[case.id], observed.pop(case.id, None)) for case in cases]

    def _screen(self, pool: Pool, cases: Sequence[Case]) -> None:
        """See that these are screened, and in the same pass those that will be asked for."""
        if all(case.id in self._sweep.results for case in cases):
            return
        wanted = {case.id: case for case in cases}
        wanted |= {i: case for i, case in self._expected.items() if i in self._forked - self._asked}
        self._sweep.screen(pool, [case for i, case in wanted.items() if i not in self._sweep.results])
