"""The side of pytest-xdist that starts the workers: it runs no case, and tells of those that end a worker.

It is there in every run with workers, also of tests that ask for nothing: what it needs is imported when the
first case is told of.
"""

from __future__ import annotations

import shutil
import tempfile
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from faultinject.pytest_plugin._summary import SummaryHooks


class ControllerHooks:
    """Gives each worker what all must agree on, and the crash of a worker to the case that it was at.

    Args:
        wanted: whether anything is set, and so something may have to be said although no case is told of.
    """

    def __init__(self, config: pytest.Config, wanted: bool) -> None:
        self.config = config
        self.directory = ""
        self._summary: SummaryHooks | None = None
        if wanted:
            self._tell_of()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        if not self.directory:
            self.directory = tempfile.mkdtemp(prefix="faultinject-pytest-")
        node.workerinput["faultinject_directory"] = self.directory
        if self._summary is not None:
            from faultinject.pytest_plugin._settings import seed_of

            node.workerinput["faultinject_seed"] = seed_of(self.config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        facts = getattr(report, "faultinject", None)
        if facts is None:
            return
        if self._summary is None:
            # Registered while this report is handed round, it is not given it.
            self._tell_of().pytest_runtest_logreport(report)
        if facts.get("moved"):
            from faultinject.pytest_plugin._last_failed import forget

            forget(self.config, facts["moved"])

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        from faultinject.pytest_plugin._shared import Shared

        running = Shared(self.directory).was_running(crashitem)
        if running is not None:
            report.longrepr = (
                f"crash: {running.title} ended the worker of pytest-xdist that ran it\n"
                f"Run this case alone: {running.replay}"
            )
            report.faultinject = {"verdict": "crash"}  # type: ignore[attr-defined]

    def pytest_unconfigure(self) -> None:
        if self.directory:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _tell_of(self) -> SummaryHooks:
        from faultinject.pytest_plugin._summary import SummaryHooks

        self._summary = SummaryHooks()
        self.config.pluginmanager.register(self._summary, "faultinject summary")
        return self._summary
