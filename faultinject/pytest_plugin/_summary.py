"""What a run says at its end of all cases together; in the process that started it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from faultinject.points import short_name
from faultinject.pytest_plugin._settings import durations_of
from faultinject.reports import counted

if TYPE_CHECKING:
    from faultinject.pytest_plugin._session import PluginSession

_LEAST_SHOWN = 0.005


class SummaryHooks:
    """Gathers what the tests report, and prints it.

    Args:
        session: of this process; `None` where the tests run in workers of pytest-xdist.
    """

    def __init__(self, session: PluginSession | None = None) -> None:
        self.session = session
        self.cases: dict[str, dict[str, Any]] = {}
        self.modules: dict[str, str] = {}
        """By name, the files that clean-up coverage looks at; told once, also of a test that is rerun."""
        self.missed = False
        """Whether one case was asked for, and no block had it."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        facts = getattr(report, "faultinject", None)
        if facts:
            self.cases[report.nodeid] = facts
            self.modules |= facts.get("modules", {})

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        asked = session.config.getoption("faultinject_case")
        found = any(facts.get("asked") for facts in self.cases.values())
        self.missed = asked is not None and not found and not session.config.option.collectonly
        if self.missed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        config = terminalreporter.config
        known = self.session.notes.values() if self.session is not None else ()
        told = (f["notes"] for f in self.cases.values() if f.get("notes"))
        notes = list(dict.fromkeys(line for lines in (*known, *told) for line in lines))
        if self.missed:
            notes.append(f"no block that ran has a case {config.getoption('faultinject_case')}")
        beneath = Counter((f["nested"], f["verdict"]) for f in self.cases.values() if f.get("nested"))
        if notes or beneath:
            terminalreporter.section("faultinject")
            for line in notes:
                terminalreporter.line(line)
            for (frame, verdict), number in sorted(beneath.items()):
                cases = counted(number, "case")
                terminalreporter.line(
                    f"beneath the target, no failure: {short_name(frame)} {verdict}, {cases}"
                )
        self._durations(terminalreporter, durations_of(config))
        if config.getoption("faultinject_cov") is not None:
            from faultinject.pytest_plugin._cov import report

            tellings = [facts["lines"] for facts in self.cases.values() if "lines" in facts]
            report(tellings, self.modules, terminalreporter)

    def _durations(self, terminalreporter: pytest.TerminalReporter, number: int | None) -> None:
        timed = [(f["seconds"], nodeid) for nodeid, f in self.cases.items() if "seconds" in f]
        if number is None or not timed:
            return
        timed.sort(reverse=True)
        shown = timed[:number] if number else timed
        terminalreporter.section(f"faultinject: slowest {number or len(timed)} of {len(timed)} cases")
        for seconds, nodeid in shown:
            if seconds >= _LEAST_SHOWN or number:
                terminalreporter.line(f"{seconds:8.2f}s {nodeid}")
