from __future__ import annotations

import pytest

from faultinject.errors import UsageError
from faultinject.facts import Item
from faultinject.hookspecs import hookimpl, installed_probes, installed_targets, new_manager


class Doors:
    name = "doors"
    nature = "resource"
    cost = "cheap"
    fork_visible = True
    private = True

    def unavailable(self):
        return None

    def snapshot(self):
        return {"front": Item("front door", group="door")}


class Plugin:
    def __init__(self, probes=(), targets=None):
        self._probes, self._targets = probes, targets or {}

    @hookimpl
    def faultinject_register_probes(self):
        if isinstance(self._probes, Exception):
            raise self._probes
        return self._probes

    @hookimpl
    def faultinject_register_targets(self):
        return self._targets


def _with(*plugins):
    manager = new_manager()
    for number, plugin in enumerate(plugins):
        manager.register(plugin, name=f"plugin-{number}")
    return manager


def _without(attribute):
    return type("Half", (), {k: v for k, v in vars(Doors).items() if k != attribute and k[:2] != "__"})()


def test_a_probe_of_a_plugin_is_taken():
    (probe,) = installed_probes((), _with(Plugin([Doors()])))
    assert probe.name == "doors"


@pytest.mark.parametrize(
    "attribute", ["nature", "cost", "fork_visible", "private", "unavailable", "snapshot"]
)
def test_a_probe_that_lacks_an_attribute_is_refused_by_plugin_probe_and_attribute(attribute):
    with pytest.raises(
        UsageError, match=f"plugin 'plugin-0', probe 'doors': attribute '{attribute}' is missing"
    ):
        installed_probes((), _with(Plugin([_without(attribute)])))


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(UsageError, match="probe 'doors': attribute 'name' is taken"):
        installed_probes(["doors"], _with(Plugin([Doors()])))
    with pytest.raises(UsageError, match="probe 'doors': attribute 'name' is taken"):
        installed_probes((), _with(Plugin([Doors()]), Plugin([Doors()])))


def test_a_hook_that_fails_is_named_and_keeps_its_traceback():
    with pytest.raises(UsageError, match="plugin 'plugin-0': faultinject_register_probes failed") as caught:
        installed_probes((), _with(Plugin(ValueError("broken"))))
    assert "ValueError: broken" in caught.value.original


def test_something_else_than_a_sequence_is_refused():
    with pytest.raises(UsageError, match="must return a sequence of probes"):
        installed_probes((), _with(Plugin(3)))


def test_a_target_of_a_plugin_is_taken():
    assert installed_targets((), _with(Plugin(targets={"doors:Front": dict}))) == {"doors:Front": dict}


@pytest.mark.parametrize(
    ("targets", "complaint"),
    [
        ([1], "must return a mapping"),
        ({"": dict}, "the name is not text"),
        ({"doors:Front": 3}, "3 is not callable"),
        ({"taken": dict}, "taken by another target"),
    ],
)
def test_a_target_that_does_not_fit_is_refused(targets, complaint):
    with pytest.raises(UsageError, match=complaint):
        installed_targets(["taken"], _with(Plugin(targets=targets)))
