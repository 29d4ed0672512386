"""The side of pytest-xdist that starts the workers: it runs no case, and tells of those that end a worker."""

from __future__ import annotations

from typing import Any

import pytest

from faultinject.pytest_plugin._settings import seed_of
from faultinject.pytest_plugin._shared import Shared
from faultinject.pytest_plugin._summary import SummaryHooks


class ControllerHooks:
    """Gives each worker what all must agree on, and the crash of a worker to the case that it was at."""

    def __init__(self, config: pytest.Config) -> None:
        self.shared = Shared.make()
        self.seed = seed_of(config)
        config.pluginmanager.register(SummaryHooks(), "faultinject summary")

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["faultinject_directory"] = str(self.shared.directory)
        node.workerinput["faultinject_seed"] = self.seed

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        running = self.shared.was_running(crashitem)
        if running is not None:
            report.longrepr = (
                f"crash: {running.title} ended the worker of pytest-xdist that ran it\n"
                f"Run this case alone: {running.replay}"
            )
            report.faultinject = {"verdict": "crash"}  # type: ignore[attr-defined]

    def pytest_unconfigure(self) -> None:
        self.shared.remove()
