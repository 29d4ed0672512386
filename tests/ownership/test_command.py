"""``hardened-vllm`` where there is no vLLM."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is installed")
def test_without_vllm_it_says_so_in_one_line_and_exits_2() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from engine._command import main; main()", "serve"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "hardened-vllm: vLLM is not installed here: install it, or run this where it is"
    ]


def test_the_plugin_does_nothing_unless_it_is_asked_for() -> None:
    script = "import sys; from engine._command import plugin; plugin(); print('vllm' in sys.modules)"
    environment = {name: value for name, value in os.environ.items() if name != "VLLM_HARDENED"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.strip() == "False"
