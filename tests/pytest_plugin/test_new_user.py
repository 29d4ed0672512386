"""The built wheel, installed as a new user would, in a project that has nothing to do with this one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.pytest_plugin.conftest import MARKED, Project

ROOT = Path(__file__).resolve().parents[2]

WHERE = """\

def test_where_it_comes_from(pytestconfig):
    import faultinject
    assert "installed" in faultinject.__file__
    assert pytestconfig.pluginmanager.hasplugin("faultinject")
"""


@pytest.mark.timeout(180)
def test_the_wheel_brings_the_plugin_and_the_first_failure_explains_itself(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = project.path / "installed"
    wheels = project.path / "wheels"
    script = f"from hatchling.build import build_wheel\nbuild_wheel({str(wheels)!r})\n"
    wheels.mkdir()
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT, capture_output=True)
    (wheel,) = wheels.iterdir()
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*pip, f"--target={installed}", str(wheel)], check=True, capture_output=True)
    assert (
        "faultinject = faultinject.pytest_plugin"
        in next(installed.glob("faultinject-*.dist-info/entry_points.txt")).read_text()
    )
    monkeypatch.setenv("PYTHONPATH", str(installed))
    project.write("test_client.py", MARKED + WHERE)
    result = project.run()
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines(
        [
            "client.py:8: RuntimeError comes in place of Client.greet",
            "E   leak: +2 fds: *",
            "Run this case alone: faultinject replay * --target client:Client --release close *",
        ]
    )
