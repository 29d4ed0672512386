from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PLUGIN = """
from faultinject.hookspecs import hookimpl
from faultinject.targets import Target

@hookimpl
def faultinject_register_targets():
    return {"mine:Thing": thing}

def thing():
    return Target(name="mine:Thing", prepare=lambda: (dict, (), {}), environment={"MINE": "1"})
"""

USE = """
import os
from faultinject.errors import UsageError
from faultinject.targets import TargetSpec, resolve

target = resolve(TargetSpec("mine:Thing", release="clear"))
function, args, kwargs = target.prepare()
assert function(*args, **kwargs) == {} and target.release == "clear"
assert os.environ["MINE"] == "1"
try:
    resolve(TargetSpec("mineThing"))
except UsageError as error:
    assert "did you mean mine:Thing" in str(error), error
else:
    raise AssertionError("an unknown name was taken")
"""


def test_the_targets_of_an_installed_package_are_found_by_name(tmp_path: Path) -> None:
    (tmp_path / "mine_for_faultinject.py").write_text(PLUGIN)
    about = tmp_path / "mine-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[faultinject]\nmine = mine_for_faultinject\n")
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    subprocess.run(
        [sys.executable, "-c", USE],
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": path},
        cwd=tmp_path,
    )
