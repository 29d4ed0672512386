from __future__ import annotations

import importlib.util
import itertools
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from faultinject.targets import Target, TargetSpec, resolve

_numbers = itertools.count()


@dataclass
class Project:
    """A directory with a module of its own name, as a user has it."""

    directory: Path
    module: str

    def resolve(self, name: str, release: str = "") -> Target:
        return resolve(TargetSpec(name, release=release, directory=str(self.directory)))

    def pyproject(self, text: str) -> None:
        (self.directory / "pyproject.toml").write_text(text.replace("MODULE", self.module))

    def write(self, name: str, text: str) -> str:
        unique = f"{self.module}_{name}"
        (self.directory / f"{unique}.py").write_text(text)
        return unique


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    spec = importlib.util.spec_from_file_location("_module", Path(__file__).with_name("_module.py"))
    assert spec is not None
    assert spec.loader is not None
    source = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(source)
    # A name of its own for each test: modules stay in sys.modules.
    module = f"targets_project_{os.getpid()}_{next(_numbers)}"
    (tmp_path / f"{module}.py").write_text(source.MODULE)
    path, modules, environment = list(sys.path), set(sys.modules), dict(os.environ)
    yield Project(tmp_path, module)
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith(module):
            del sys.modules[name]
    for name in set(os.environ) - set(environment):
        del os.environ[name]
    os.environ.update(environment)
