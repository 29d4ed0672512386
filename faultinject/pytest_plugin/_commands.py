"""The commands that a failure names: built from what is set, so that they do what the run did."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from faultinject.pytest_plugin._planned import Plan, Source
from faultinject.pytest_plugin._settings import Settings

_OF_A_CASE = ("level", "faults", "time-limit")
"""Settings without which a case of a block is not found, or not judged alike."""


def anew(kind: Source, plan: Plan, settings: Settings, config: pytest.Config) -> str:
    """The command that writes the committed matrix, or baseline, of a plan anew."""
    if kind == "baseline":
        return "faultinject gate --accept"
    from faultinject.cli._tables import words_of

    target = settings.options.target
    faults = tuple(dict.fromkeys((*plan.listed, *plan.faults)))
    given = {
        "release": target.release,
        "own": list(target.own),
        "fault": ",".join(faults),
        "second": plan.second,
        "directory": Path(_seen(target.directory, config)),
    }
    words = ["faultinject", "matrix", target.name, *words_of(given)]
    matrices = _seen(settings.matrices, config)
    if matrices != "matrices":
        words += ["--matrices", matrices]
    return shlex.join(words)


def alone(item: pytest.Item, identifier: str) -> str:
    """The command that runs one case of the blocks of a test."""
    config = item.config
    test = item.nodeid.partition("::")[2]
    words = ["pytest", f"{_seen(item.path, config)}::{test}", "--faultinject-case", identifier]
    for name in _OF_A_CASE:
        given = config.getoption(f"faultinject_{name.replace('-', '_')}")
        if given is not None:
            words.append(f"--faultinject-{name}={given}")
    for override in config.getoption("override_ini") or ():
        if override.startswith("faultinject_"):
            words += ["-o", override]
    if config.inipath is None:
        # It is then guessed from the arguments, and the ids of the cases hold the path from there.
        words += ["--rootdir", _seen(config.rootpath, config)]
    return shlex.join(words)


def _seen(path: str | Path, config: pytest.Config) -> str:
    return os.path.relpath(path, config.invocation_params.dir)
