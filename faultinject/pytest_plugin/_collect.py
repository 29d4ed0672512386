"""One test becomes one for each case, while pytest collects; the target is not imported here."""

from __future__ import annotations

import msgspec
import pytest

from faultinject.errors import FaultinjectError, UsageError
from faultinject.pytest_plugin._cov import with_cover
from faultinject.pytest_plugin._expected import with_baseline
from faultinject.pytest_plugin._last_failed import keep
from faultinject.pytest_plugin._planned import (
    Plan,
    Planned,
    committed,
    plan_of_baseline,
    plan_of_matrix,
    plan_of_points,
)
from faultinject.pytest_plugin._session import PluginSession, session_of
from faultinject.pytest_plugin._settings import Settings, settings_for

MARK = "faultinject"
"""The name of the mark, as of the plugin's module, which imports nothing."""


class Param(msgspec.Struct, frozen=True):
    """What a generated test knows: the case, and with what it is swept."""

    planned: Planned
    plan: Plan
    settings: Settings


def generate(metafunc: pytest.Metafunc, mark: pytest.Mark) -> None:
    """Parametrise a marked test with the cases of its target.

    Raises:
        pytest.Collector.CollectError: the mark, a setting or the committed matrix is wrong.
    """
    session = session_of(metafunc.config)
    try:
        settings = settings_for(metafunc.config, mark)
        if not settings.options.target.name:
            if "fault_sweep" not in metafunc.fixturenames:
                raise UsageError(
                    "no target: name one in @pytest.mark.faultinject(target=...), or take the fixture "
                    "fault_sweep and put what is to be swept into `with fault_sweep():`"
                )
            return
        settings = with_cover(settings, metafunc.config, settings.options.target.name)
        plan = with_baseline(plan_for(session, settings), settings)
    except FaultinjectError as error:
        raise pytest.Collector.CollectError(f"faultinject: {metafunc.definition.name}: {error}") from None
    settings = msgspec.structs.replace(
        settings, options=msgspec.structs.replace(settings.options, faults=plan.faults)
    )
    nodeid = metafunc.definition.nodeid
    session.moved |= keep(metafunc.config, f"{nodeid}[", [f"{nodeid}[{one.title}]" for one in plan.planned])
    session.planned(nodeid, plan, settings)
    if "fault_case" not in metafunc.fixturenames:
        metafunc.fixturenames.append("fault_case")
    metafunc.parametrize(
        "fault_case",
        [Param(planned, plan, settings) for planned in plan.planned],
        ids=[planned.title for planned in plan.planned],
        indirect=True,
    )


def param_of(item: pytest.Item) -> Param | None:
    """What a test was made for, if this plugin made it."""
    callspec = getattr(item, "callspec", None)
    param = callspec.params.get("fault_case") if callspec is not None else None
    return param if isinstance(param, Param) else None


def plan_for(session: PluginSession, settings: Settings) -> Plan:
    """The tests of a target: from its committed matrix, or the baseline of its gate, or from a recording.

    Raises:
        UsageError: the committed file cannot be read.
    """
    plan = plan_of_matrix(committed(settings), settings) or plan_of_baseline(settings)
    if plan is not None:
        return plan

    def record() -> bytes:
        try:
            points = session.flows.get(settings.options).recording.points
            plan = plan_of_points(points, settings)
        except FaultinjectError as error:
            broken = Planned("broken", "cannot be recorded", why=error.whole)
            plan = Plan(settings.options.faults, (broken,), 0)
        return msgspec.json.encode(plan)

    made = session.shared.once(msgspec.json.encode(settings, enc_hook=str), record)
    return msgspec.json.decode(made, type=Plan)
