from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import pytest

from faultinject.errors import UsageError
from faultinject.probes import Probe, check_probe, load_probes
from faultinject.probes._registry import BUILT_IN

NAMES = [kind.name for kind in BUILT_IN]


def test_every_probe_has_a_name_of_its_own_and_is_a_probe():
    probes = load_probes(plugins=False)
    assert [probe.name for probe in probes] == NAMES
    assert len(set(NAMES)) == len(NAMES)
    assert all(isinstance(probe, Probe) for probe in probes)


@pytest.mark.parametrize("name", NAMES)
def test_every_probe_keeps_its_promises(name, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (probe,) = load_probes(only=[name])
    if probe.unavailable() is not None:
        pytest.skip(str(probe.unavailable()))
    check_probe(probe)


def test_probes_are_chosen_by_name():
    assert [probe.name for probe in load_probes(only=["threads", "fds"])] == ["fds", "threads"]
    assert [probe.name for probe in load_probes(only=["fds", "gc"], without=["gc"])] == ["fds"]
    assert "gc" not in [probe.name for probe in load_probes(without=["gc"], plugins=False)]


@pytest.mark.parametrize("wrong", [{"only": ["thread"]}, {"without": ["thread"]}])
def test_an_unknown_name_is_refused_with_those_that_are_near(wrong):
    with pytest.raises(UsageError, match=r"unknown probe 'thread' \(did you mean threads\?\)"):
        load_probes(**wrong)


PLUGIN = """
from faultinject.facts import Item
from faultinject.hookspecs import hookimpl

class Doors:
    name, nature, cost, fork_visible, private = "doors", "resource", "cheap", True, True
    def unavailable(self): return None
    def snapshot(self): return {"front": Item("front door", group="door")}

@hookimpl
def faultinject_register_probes(): return [Doors()]
"""


def _run(code, tmp_path, plugin):
    (tmp_path / "doors_plugin.py").write_text(plugin)
    (tmp_path / "doors-1.0.dist-info").mkdir()
    (tmp_path / "doors-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: doors\nVersion: 1.0\n"
    )
    (tmp_path / "doors-1.0.dist-info" / "entry_points.txt").write_text(
        "[faultinject]\ndoors = doors_plugin\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)


def test_an_installed_package_adds_a_probe(tmp_path):
    code = (
        "from faultinject.probes import ProbeSet, load_probes\n"
        "taken = ProbeSet(load_probes(only=['doors'])).snapshot()\n"
        "print(taken['doors']['front'].label)"
    )
    done = _run(code, tmp_path, PLUGIN)
    assert (done.stdout, done.stderr) == ("front door\n", "")


def test_plugins_are_not_loaded_until_a_probe_of_theirs_may_be_wanted(tmp_path):
    code = (
        "import sys; from faultinject.probes import load_probes\n"
        "load_probes(only=['fds']); load_probes(plugins=False)\n"
        "assert not {'doors_plugin', 'pluggy', 'importlib.metadata'} & set(sys.modules)"
    )
    done = _run(code, tmp_path, PLUGIN)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_plugin_that_cannot_be_imported_is_named_with_its_package(tmp_path):
    code = (
        "from faultinject.errors import UsageError; from faultinject.probes import load_probes\n"
        "try: load_probes()\n"
        "except UsageError as error: print(error); print('no_such_module' in error.original)"
    )
    done = _run(code, tmp_path, "import no_such_module")
    message, original = done.stdout.splitlines()
    assert "plugin 'doors' (doors_plugin) cannot be loaded: ModuleNotFoundError" in message
    assert message.endswith("repair or uninstall doors")
    assert original == "True"
