"""Runs one case for one test: judged before the body of the test, which then may look at it."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest

from faultinject.errors import FaultinjectError
from faultinject.facts import Case, CaseResult, Observation, Point, Verdict
from faultinject.gate._compare import violations_of
from faultinject.matrix import NOTHING_KNOWN, PLAIN
from faultinject.points import short_name
from faultinject.pytest_plugin._collect import Param, param_of
from faultinject.pytest_plugin._commands import anew
from faultinject.pytest_plugin._cov import told
from faultinject.pytest_plugin._display import CaseFailed, failed_case, failed_text, place_of, skipped
from faultinject.pytest_plugin._expected import rule
from faultinject.pytest_plugin._flows import Flow
from faultinject.pytest_plugin._planned import Source
from faultinject.pytest_plugin._session import FACTS, PluginSession
from faultinject.pytest_plugin._shared import Running
from faultinject.reports._words import counted, gravest
from faultinject.sweep import Judged

_CASE: pytest.StashKey[FaultCase] = pytest.StashKey()


class FaultCase:
    """The case of a test, as the fixture `fault_case` gives it.

    Attributes:
        planned: the place and the fault in words, such as ``Client.__init__:12 open before RuntimeError``.
    """

    def __init__(self, planned: str) -> None:
        self.planned = planned
        self._judged: Judged | None = None

    @property
    def result(self) -> CaseResult:
        """The case with its verdict, problems and what was owned, released and left."""
        if self._judged is None:
            raise RuntimeError(
                "the case is judged when the test's setup is over: look at it in the test's body"
            )
        return self._judged.result

    @property
    def observation(self) -> Observation | None:
        """What was seen of it; `None` where another case of its kind spoke for it."""
        return self._judged.observation if self._judged is not None else None

    @property
    def verdict(self) -> Verdict:
        return self.result.verdict

    @property
    def point(self) -> Point:
        return self.result.point

    @property
    def fault(self) -> str:
        return self.result.fault

    @property
    def exception(self) -> str:
        """Type and text of what the caller of the target got."""
        return self.result.exception

    def __repr__(self) -> str:
        verdict = f": {self._judged.result.verdict}" if self._judged is not None else ""
        return f"<FaultCase {self.planned}{verdict}>"


def case_of(request: pytest.FixtureRequest) -> FaultCase:
    """The case of the test that asks; one that is not marked with a target fails."""
    param = param_of(request.node)
    if param is None:
        text = "fault_case needs @pytest.mark.faultinject(target=...) on the test"
        raise failed_text(request.node, text, "")
    case = request.node.stash[_CASE] = FaultCase(param.planned.title)
    return case


class CaseHooks:
    """The hooks of a run that has marked tests."""

    def __init__(self, session: PluginSession) -> None:
        self.session = session
        self._order: dict[str, list[Param]] = {}
        self._places: dict[int, int] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Note what will be run, in its order: what comes next, and what one screen covers."""
        for item in items:
            param = param_of(item)
            if param is not None and param.planned.kind == "case":
                order = self._order.setdefault(_flow_of(param), [])
                self._places[id(param)] = len(order)
                order.append(param)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.config.option.collectonly:
            self.session.flows.close()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Iterator[None]:
        param = param_of(pyfuncitem)
        if param is not None:
            self._run(pyfuncitem, param)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        report: Any = yield
        if call.excinfo is not None and isinstance(call.excinfo.value, CaseFailed):
            failure = call.excinfo.value
            report.longrepr = failure.representation(short=item.config.option.tbstyle in ("line", "no"))
        facts = item.stash.get(FACTS, None)
        if facts is not None and call.when == "call":
            report.faultinject = facts
        return report  # type: ignore[no-any-return]

    def pytest_unconfigure(self) -> None:
        self.session.close()

    def _run(self, item: pytest.Function, param: Param) -> None:
        planned = param.planned
        told_of = item.stash[FACTS] = {
            "moved": self.session.moved.get(item.nodeid, ""),
            "notes": self.session.notes.get(item.nodeid.partition("[")[0], []),
        }
        if planned.kind == "broken":
            raise failed_text(item, f"{param.settings.options.target.name} cannot be swept", planned.why)
        try:
            flow = self.session.flows.get(param.settings.options, param.plan.matrix)
            if planned.kind == "whole":
                self._check_whole(item, param, flow)
                return
            case = flow.find(planned)
            if case is None:
                self._not_there(item, param)
                return
            judged = self._judge(item, param, flow, case)
        except FaultinjectError as error:
            raise failed_text(item, f"{planned.title} cannot be judged", error.whole) from None
        fault_case = item.stash.get(_CASE, None)
        if fault_case is not None:
            fault_case._judged = judged
        result = judged.result
        told_of |= _facts(result)
        if param.settings.options.cover:
            title = f"{param.settings.options.target.name} {planned.title}"
            told_of["lines"] = told([judged], [title])
            told_of["modules"] = flow.modules_once()
        if judged.observation is not None and judged.observation.output.strip():
            item.add_report_section("call", "output of the case's process", judged.observation.output)
        self._conclude(item, param, judged, flow)

    def _judge(self, item: pytest.Function, param: Param, flow: Flow, case: Case) -> Judged:
        order = self._order.get(_flow_of(param), [])
        place = self._places.get(id(param), len(order))
        # A worker of pytest-xdist runs some of them only, and is told which when it comes to them.
        alone = self.session.shared.is_worker
        if not alone and not flow.expects:
            flow.expect([one.planned for one in order])
        following = [] if alone else [one.planned for one in order[place + 1 : place + flow.lanes]]
        running = Running(item.nodeid, param.planned.title, flow.options.replay(case.id))
        try:
            with self.session.shared.running(running):
                return flow.judge(case, following)
        except BaseException:
            self.session.flows.drop(flow)
            raise

    def _conclude(self, item: pytest.Function, param: Param, judged: Judged, flow: Flow) -> None:
        result, settings, root = judged.result, param.settings, item.config.rootpath
        if result.verdict in NOTHING_KNOWN:
            raise skipped(f"{result.verdict}: {_what(result)}")
        ruling = rule(result, param.planned, param.plan, settings, flow.recording, datetime.date.today())
        # With --runxfail nothing is expected to fail.
        unexcused = violations_of(result) if ruling.expected and item.config.option.runxfail else ()
        if accused := ruling.accused or unexcused:
            again = flow.options.replay(result.id)
            raise failed_case(judged, flow.recording, again, root, accused, ruling.note)
        if ruling.stale:
            place = place_of(result.point, judged.observation, root)
            stale_in = param.plan.kind if param.plan.gate is None else "baseline"
            raise CaseFailed(f"{ruling.stale}: {_anew(item, param, stale_in)}", place)
        if ruling.expected:
            raise pytest.xfail.Exception(f"{ruling.expected}: {_what(result)}", pytrace=False)

    def _check_whole(self, item: pytest.Function, param: Param, flow: Flow) -> None:
        missing = sorted(flow.keys - set(param.plan.keys))
        if missing:
            shown = "\n".join(f"  {key}" for key in missing[:20])
            raise failed_text(
                item,
                f"{param.plan.source} lacks {counted(len(missing), 'fault point')}",
                f"{shown}\n{_anew(item, param)}",
            )

    def _not_there(self, item: pytest.Function, param: Param) -> None:
        what = f"{param.settings.options.target.name} makes no such call"
        if not param.plan.source:
            raise skipped(f"not-reached: {what} in this process's recording")
        raise failed_text(
            item,
            f"{what} any more",
            f"{param.plan.source} is of an older state of it: {_anew(item, param)}",
        )


def _flow_of(param: Param) -> str:
    return f"{param.plan.matrix} {param.settings.options!r}"


def _anew(item: pytest.Function, param: Param, kind: Source | None = None) -> str:
    command = anew(kind or param.plan.kind, param.plan, param.settings, item.config)
    return f"write it anew with `{command}`"


def _what(result: CaseResult) -> str:
    """The gravest problem in a line."""
    charged = f" (charged to {short_name(result.charged_to)})" if result.charged_to else ""
    return f"{gravest(result)}{charged}"


def _facts(result: CaseResult) -> dict[str, Any]:
    """What the summary needs, as values that pytest-xdist can send."""
    nested = result.charged_to if not result.violation and result.verdict not in PLAIN else ""
    return {
        "id": result.id,
        "verdict": result.verdict,
        "seconds": result.seconds,
        "nested": nested,
        "confirmed": result.confirmed or bool(result.confirmed_by),
    }
