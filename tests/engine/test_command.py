"""``hardened-vllm`` and the plugin, in a new process with a real vLLM."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from faultinject.targets._vllm import environment

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

pytest.importorskip("vllm", reason="needs an installed vLLM")

WHAT_IS_REPLACED = """
from vllm.plugins import load_general_plugins
load_general_plugins()
from engine import _harden
print(sorted(_harden._current.replaced) if _harden._current else [])
"""


def run(*arguments: str, **more: str) -> list[str]:
    known = {name: value for name, value in os.environ.items() if name != "VLLM_HARDENED"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
        env={**known, **environment(), **more},
        timeout=240,
    )
    return done.stdout.strip().splitlines()


def test_vllm_puts_the_hardening_on_by_itself_where_the_variable_says_so() -> None:
    assert "vllm.v1.engine.core:EngineCore.__init__" in run("-c", WHAT_IS_REPLACED, VLLM_HARDENED="1")[-1]


def test_without_the_variable_an_installed_package_changes_nothing() -> None:
    assert run("-c", WHAT_IS_REPLACED)[-1] == "[]"


AS_VLLM_IS_RUN = """
import sys, types
package, command = types.ModuleType("vllm.entrypoints.cli"), types.ModuleType("vllm.entrypoints.cli.main")
command.main = lambda: print(sys.argv)
sys.modules["vllm.entrypoints.cli"], sys.modules["vllm.entrypoints.cli.main"] = package, command
from engine import _harden
from engine._command import main
main()
print(bool(_harden._current))
"""


def test_it_runs_vllms_command_line_with_the_same_arguments() -> None:
    # A stand-in: that of the CPU build asks for a distribution called vllm, which it is not, and then dies of
    # an instruction that not every processor has.
    said = run("-c", AS_VLLM_IS_RUN, "serve", "a model")
    assert said[-2:] == ["['vllm', 'serve', 'a model']", "True"]
