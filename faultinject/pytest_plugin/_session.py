"""What the plugin keeps for one run of pytest; made when the first test asks for it."""

from __future__ import annotations

from typing import Any

import pytest

from faultinject.pytest_plugin._flows import Flows
from faultinject.pytest_plugin._planned import Plan
from faultinject.pytest_plugin._settings import Settings
from faultinject.pytest_plugin._shared import Shared

_KEY: pytest.StashKey[PluginSession] = pytest.StashKey()
FACTS: pytest.StashKey[dict[str, Any]] = pytest.StashKey()
"""What a test tells the summary of its cases, as values that pytest-xdist can send."""


class PluginSession:
    """The flows that are ready, what the workers share, and which tests come from where."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.flows = Flows()
        self.shared = Shared.of(config)
        self.notes: dict[str, list[str]] = {}
        """By a test's id, what the end of the run says of all its cases together."""
        self.moved: dict[str, str] = {}
        """By a case's id, the one that it had when it failed last."""

    def planned(self, nodeid: str, plan: Plan, settings: Settings) -> None:
        """Note how many of its cases a test has, and what its plan has to say."""
        cases = sum(one.kind == "case" for one in plan.planned)
        lines = [f"{nodeid}: {note}" for note in plan.notes]
        if cases < plan.of:
            lines.append(f"{nodeid}: {cases} of {plan.of:,} cases, seed {settings.seed}")
        if lines:
            self.notes[nodeid] = lines

    def close(self) -> None:
        self.flows.close()


def session_of(config: pytest.Config) -> PluginSession:
    """The plugin's session of this run; the first call also registers the hooks that it needs."""
    session = config.stash.get(_KEY, None)
    if session is None:
        from faultinject.pytest_plugin._cases import CaseHooks
        from faultinject.pytest_plugin._summary import SummaryHooks

        session = config.stash[_KEY] = PluginSession(config)
        config.pluginmanager.register(CaseHooks(session), "faultinject cases")
        if not session.shared.is_worker:
            config.pluginmanager.register(SummaryHooks(session), "faultinject summary")
    return session
