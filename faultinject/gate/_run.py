"""The gate: sweeps, each compared with its baseline."""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from faultinject._reading import check_inside
from faultinject.errors import FaultinjectError, TargetError, UsageError
from faultinject.facts import Case, CaseResult, Recording, Summary
from faultinject.gate._baseline import Baseline, baseline_path, read_baseline
from faultinject.gate._budget import batches, in_turn
from faultinject.gate._compare import Outcome, compare
from faultinject.gate._record import Record, read_record, write_record
from faultinject.gate._sources import Sources
from faultinject.matrix import NOTHING_KNOWN, matrix_path
from faultinject.points import point_key
from faultinject.reports import Environment, Kept, Report
from faultinject.sweep import Options, sweep_class

RUN_NUMBERS = ("GITHUB_RUN_NUMBER", "CI_PIPELINE_IID")
"""Variables in which a server of continuous integration counts the runs of a project."""


class GateSweep(NamedTuple):
    """One sweep of a gate.

    Attributes:
        options: what is swept, and how.
        matrices: the folder of its baseline.
        record: where it is kept what has run; None for nowhere.
    """

    options: Options
    matrices: Path
    record: Path | None = None

    @property
    def name(self) -> str:
        return f"{self.options.target.name} at level {self.options.level}"

    @property
    def baseline(self) -> Path:
        return baseline_path(self.matrices, self.options.target.name, self.options.level)


@dataclass(frozen=True)
class Ran:
    """A sweep that was made, and what came of it.

    Attributes:
        version: of the package the target comes from.
        cases: every case there is, by id; those that ran are in the report.
        seed: of the turn, under a budget.
    """

    sweep: GateSweep
    baseline: Baseline | None
    report: Report
    recording: Recording
    summary: Summary
    version: str
    cases: dict[str, Case]
    outcome: Outcome
    seed: int | None = None

    @property
    def environment(self) -> Environment:
        return self.report.environment

    def compared(self, baseline: Baseline | None, today: datetime.date) -> Ran:
        """The same sweep against another baseline."""
        results = {result.id: result for result in self.report.cases}
        outcome = compare(baseline, self.recording, self.environment, results, tuple(self.cases), today)
        return Ran(
            self.sweep, baseline, self.report, self.recording, self.summary, self.version, self.cases,
            outcome, self.seed,
        )  # fmt: skip


@dataclass(frozen=True)
class Broken:
    """A sweep that could not be made, and why."""

    sweep: GateSweep
    error: FaultinjectError


Made = Ran | Broken


def run_gate(
    sweeps: Sequence[GateSweep],
    *,
    watch: Callable[[GateSweep], Kept],
    today: datetime.date,
    budget: float = 0.0,
    seed: int | None = None,
    command: tuple[str, ...] = (),
) -> Iterable[Made]:
    """Make the sweeps one after the other; each is there when it is over.

    One that cannot be made, or in which no case could be judged, keeps none of the others from being made.

    Args:
        watch: makes the reporter of a sweep.
        today: decides what has expired.
        budget: seconds for all of them; 0 for as long as it takes.
        seed: of the turn; None for that of the run: what the server counts, or else what this machine does.
        command: for the reports.

    Raises:
        UsageError: as of `read_baseline` and `check_inside`, or the server's count is none; before anything
            is swept.
    """
    # A file that is wrong is said before the first sweep, not after an hour.
    baselines = [_committed(one) for one in sweeps]
    if budget and seed is None:
        seed = _run_number()
    end = time.monotonic() + budget
    for number, (sweep, baseline) in enumerate(zip(sweeps, baselines, strict=True)):
        share = (end - time.monotonic()) / (len(sweeps) - number)
        until = max(share, 0.0) if budget else None
        made: Made
        try:
            made = _run(sweep, baseline, watch(sweep), today, until, seed, command)
        except FaultinjectError as error:
            made = Broken(sweep, error)
        yield made


def _committed(sweep: GateSweep) -> Baseline | None:
    path = check_inside(sweep.baseline, sweep.matrices, "baseline")
    return read_baseline(path) if path.exists() else None


def _run(
    sweep: GateSweep, baseline: Baseline | None, kept: Kept, today: datetime.date, share: float | None,
    seed: int | None, command: tuple[str, ...],
) -> Ran:  # fmt: skip
    if matrix_path(sweep.matrices, sweep.options.target.name).exists():
        options = msgspec.structs.replace(sweep.options, matrices=str(sweep.matrices))
        sweep = sweep._replace(options=options)
    options = sweep.options
    record = read_record(sweep.record)
    turn = _Turn(sweep, baseline, record, share, record.runs + 1 if seed is None else seed)
    work = sweep_class(options)(options, kept, command=command, plan=turn.plan)
    try:
        summary = work.run()
    finally:
        kept.close()
    report = kept.report()
    assert report is not None
    assert work.recording is not None
    results = {result.id: result for result in report.cases}
    if results and all(result.verdict in ("not-reached", "unstable") for result in results.values()):
        raise TargetError(
            f"target {options.target.name}: none of its {len(results)} cases could be judged (not reached, "
            "or different each time): see `faultinject sweep`"
        )
    outcome = compare(baseline, work.recording, report.environment, results, tuple(work.cases), today)
    turn.write(results.values(), outcome)
    return Ran(
        sweep, baseline, report, work.recording, summary, work.version, dict(work.cases), outcome,
        turn.seed if share is not None else None,
    )  # fmt: skip


class _Turn:
    """Which cases run this time, and the record of it."""

    def __init__(
        self, sweep: GateSweep, baseline: Baseline | None, record: Record, share: float | None, seed: int
    ) -> None:
        self.seed = seed
        self._sweep = sweep
        self._baseline = baseline
        self._record = record
        self._until = None if share is None else time.monotonic() + share
        self._digests: dict[str, str] = {}
        self._cases: frozenset[str] = frozenset()

    def plan(self, recording: Recording, cases: Sequence[Case]) -> Iterable[Sequence[Case]]:
        sources = Sources(Path(self._sweep.options.target.directory))
        self._cases = frozenset(case.id for case in cases)
        self._digests = {point_key(case.point): sources.digest(case.point) for case in cases}
        if self._until is None:
            return [cases]
        known, before = self._record.points, self._baseline
        urgent = {key for key, digest in self._digests.items() if key in known and known[key] != digest}
        if before is not None:
            urgent |= self._digests.keys() - set(before.points)
        never_run = self._digests.keys() - known.keys()
        points = in_turn(
            cases, frozenset(urgent), frozenset(never_run), self.seed, frozenset(self._record.failing)
        )
        return batches(points, self._until - time.monotonic())

    def write(self, results: Collection[CaseResult], outcome: Outcome) -> None:
        ran = {point_key(result.point) for result in results}
        digests = {key: digest for key, digest in self._digests.items() if key in ran}
        settled = {result.id for result in results if result.verdict not in NOTHING_KNOWN}
        failing = {*self._record.failing} & self._cases - settled | outcome.failing
        write_record(self._sweep.record, self._record, digests, frozenset(self._digests), failing)


def _run_number() -> int | None:
    """What the server of continuous integration counts, if one does.

    Raises:
        UsageError: it has more digits than any count.
    """
    for name in RUN_NUMBERS:
        text = os.environ.get(name, "")
        if text.isdecimal():
            if len(text) > 9:
                raise UsageError(f"{name} has {len(text)} digits, and counts no runs: give --seed")
            return int(text)
    return None
