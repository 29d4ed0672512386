"""The fixture `fault_sweep`: a block in the body of a test is the target."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

import msgspec
import pytest

from faultinject.errors import FaultinjectError, TargetError
from faultinject.facts import Case, CaseResult, Finding, Recording, Summary
from faultinject.gate._compare import violations_of
from faultinject.pytest_plugin._collect import MARK
from faultinject.pytest_plugin._commands import alone
from faultinject.pytest_plugin._cov import told, with_cover
from faultinject.pytest_plugin._display import CaseFailed, failed_case, failed_text
from faultinject.pytest_plugin._planned import title_of, within
from faultinject.pytest_plugin._session import FACTS, session_of
from faultinject.pytest_plugin._settings import Settings, settings_for
from faultinject.reports import counted, summarise
from faultinject.runners import BlockPool, BlockRun, InBlock
from faultinject.sweep import CaseByCase, Judged
from faultinject.targets import TargetSpec

_CANNOT_WAIT = 0x20 | 0x80 | 0x200
"""Code flags of generators, coroutines and asynchronous generators: their frame is not one on the stack."""
_CANNOT = "the block cannot be swept"
_SHOWN = 3
"""Findings that are shown whole."""


class FaultSweep:
    """Called in a test, gives the context manager whose block is swept."""

    def __init__(self, item: pytest.Function, settings: Settings) -> None:
        self.item = item
        self.settings = settings
        self._blocks = 0
        self._second: _Second | None = None

    def __call__(self) -> Block:
        self._blocks += 1
        second = self._second
        if second is not None:
            second.blocks += 1
            return _SecondBlock(self, second) if second.blocks == second.number else _Passed(self)
        return Block(self, self._blocks)

    def again(self, number: int) -> None:
        """Run the test anew, as far as the end of its block of that number; the process is to end soon."""
        item = self.item
        second = self._second = _Second(number)
        wanted = getattr(item, "_fixtureinfo").argnames  # noqa: B009 - private, and so looked up by name
        try:
            item.obj(**{name: item.funcargs[name] for name in wanted})
        except _Ended:
            return
        raise RuntimeError(f"it does not come to its block {second.number} again")


class Block:
    """Sweeps its block before it runs it.

    Attributes:
        results: the judged cases.
        summary: the same, counted and clustered.
        recording: what an unharmed run of the block showed.
    """

    recording: Recording
    summary: Summary

    def __init__(self, sweep: FaultSweep, number: int) -> None:
        self._sweep = sweep
        self._number = number
        self._run: BlockRun | None = None
        self._judged: list[Judged] = []
        self._error: FaultinjectError | None = None

    @property
    def results(self) -> list[CaseResult]:
        return [one.result for one in self._judged]

    def __enter__(self) -> Self:
        frame = sys._getframe(1)
        try:
            self._sweep_block(frame)
        except InBlock as become:
            run = self._run = self._in_the_case(become, frame)
        else:
            return self
        run.prepare()
        run.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._run is not None:
            self._run.end(error)
        if error is None:
            self._conclude()

    def _in_the_case(self, become: InBlock, frame: FrameType) -> BlockRun:
        become.__traceback__ = None
        again: Callable[[], None] = lambda: self._sweep.again(self._number)  # noqa: E731 - needs the number
        return BlockRun(become, self._spec, frame, again)

    @property
    def _name(self) -> str:
        return f"{self._sweep.item.nodeid}{f' block {self._number}' if self._number > 1 else ''}"

    @property
    def _spec(self) -> TargetSpec:
        return msgspec.structs.replace(self._sweep.settings.options.target, name=self._name)

    def _sweep_block(self, frame: FrameType) -> None:
        settings = self._sweep.settings
        options = settings.options
        if frame.f_code.co_flags & _CANNOT_WAIT:
            text = "it is in a coroutine: name the coroutine function as the mark's target"
            raise failed_text(self._sweep.item, _CANNOT, text)
        if options.level == "opcodes":
            text = "there is no level opcodes of a block: name the constructor as the mark's target"
            raise failed_text(self._sweep.item, _CANNOT, text)
        spec = self._spec
        options = msgspec.structs.replace(options, target=spec, runner="zygote")
        try:
            with (
                BlockPool(spec, options.lanes) as pool,
                CaseByCase(options, adjust=_without_own_ends, pool=pool) as flow,
            ):
                cases = self._chosen(flow)
                self._judged = flow.judge(cases)
                if options.cover:
                    titles = [f"{self._name} {title_of(case.point, case.fault)}" for case in cases]
                    self._facts.setdefault("lines", []).extend(told(self._judged, titles))
                    self._facts.setdefault("modules", {}).update(flow.modules)
                self.recording = flow.recording
                self.summary = summarise(self.results, flow.recording)
        except TargetError as error:
            # Where the block fails by itself, it now does so here, and shows it better.
            self._error = error
        except FaultinjectError as error:
            raise failed_text(self._sweep.item, _CANNOT, error.whole) from None

    def _conclude(self) -> None:
        """The block ran unharmed: say what it did when it was not."""
        item, settings = self._sweep.item, self._sweep.settings
        if self._error is not None:
            raise failed_text(item, _CANNOT, self._error.whole)
        findings = [f for f in self.summary.findings if f.violation and f.verdict not in settings.allow]
        if findings:
            raise self._failure(findings)

    @property
    def _facts(self) -> dict[str, Any]:
        return self._sweep.item.stash.setdefault(FACTS, {})

    def _chosen(self, flow: CaseByCase) -> list[Case]:
        """The cases to judge: all that the budget allows, or the one that was asked for, if it is of here."""
        settings = self._sweep.settings
        wanted = self._sweep.item.config.getoption("faultinject_case")
        if not wanted:
            return within(flow.cases, [0] * len(flow.cases), settings)
        found = [case for case in flow.cases if case.id.startswith(wanted.strip().lower())]
        self._facts["asked"] = self._facts.get("asked", False) or bool(found)
        return found

    def _failure(self, findings: list[Finding]) -> CaseFailed:
        item = self._sweep.item
        by_id = {one.result.id: one for one in self._judged}
        shown: list[CaseFailed] = []
        for finding in findings[:_SHOWN]:
            judged = by_id[finding.smallest]
            allow = self._sweep.settings.allow
            accused = [root for root in violations_of(judged.result) if root.verdict not in allow]
            again = alone(item, judged.result.id)
            shown.append(failed_case(judged, self.recording, again, item.config.rootpath, accused))
        lines: list[str] = []
        for number, (finding, one) in enumerate(zip(findings, shown, strict=False), 1):
            cases = counted(finding.count, "case")
            lines += [f"E   {number}. {finding.verdict}, {cases}: {finding.handler}", "", *one.lines, ""]
        rest = findings[_SHOWN:]
        lines += [f"E   {f.verdict}, {counted(f.count, 'case')}: {f.handler}" for f in rest]
        violations = counted(self.summary.violations, "violation")
        lines += [f"{violations} in {counted(self.summary.cases, 'case')} of the block"]
        first = findings[0]
        return CaseFailed(f"{first.verdict}: {first.handler}", shown[0].place, lines)


class _Ended(BaseException):
    """The second run of a block has come to its end."""


class _Second:
    """A second run of a test in one process, as far as a block's end."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.blocks = 0


class _Passed(Block):
    """A block before the one of interest: it only runs."""

    def __init__(self, sweep: FaultSweep) -> None:
        super().__init__(sweep, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None


class _SecondBlock(_Passed):
    """The block of interest: the test goes on to its end and no further."""

    def __init__(self, sweep: FaultSweep, second: _Second) -> None:
        super().__init__(sweep)

    def __exit__(self, *error: object) -> None:
        if not any(error):
            raise _Ended


def sweep_of(request: pytest.FixtureRequest) -> FaultSweep:
    """What the fixture gives to the test that asks; where a setting is wrong, that fails."""
    session_of(request.config)
    item: Any = request.node
    try:
        settings = settings_for(request.config, item.get_closest_marker(MARK))
    except FaultinjectError as error:
        raise failed_text(item, _CANNOT, str(error)) from None
    if settings.options.target.name:
        text = "fault_sweep and a target in the mark: the one or the other names what is swept"
        raise failed_text(item, _CANNOT, text)
    return FaultSweep(item, with_cover(settings, request.config, ""))


def _without_own_ends(recording: Recording) -> Recording:
    """No fault comes out of a call that the block makes itself, its work done: nobody is there to catch it.

    What it hands over is then the block's, which is where the next call's fault comes.
    """
    inner = {point.caller for point in recording.points} - {recording.frame}
    points = tuple(
        point
        for point in recording.points
        if not (point.phase == "after" and point.caller == recording.frame and point.callee in inner)
    )
    return msgspec.structs.replace(recording, points=points)
