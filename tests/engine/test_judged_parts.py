"""The parts around which `benchmarks/mutations.py` judges the hardened engine core see what is left out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

pytest.importorskip("vllm", reason="needs an installed vLLM")

SCRIPT = """
import json, sys
from tests.ownership.targets_vllm import GivenBack
from engine._process_state import ProcessState

def tried():
    try:
        GivenBack()
    except RuntimeError as error:
        return str(error)
    return "made"

told = [tried()]
ProcessState.restore = lambda self: None
told.append(tried())
sys.stdout.write(json.dumps(told))
"""


def test_they_are_given_back_and_a_release_that_does_nothing_is_seen() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    whole, without = json.loads(done.stdout.splitlines()[-1])
    assert whole == "made"
    assert without.startswith(
        "not as it was when load_model had failed: random, numpy, torch, set_num_threads"
    )
