"""A fault that comes once, a number of times, or for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultinject.filters import PointFilter
from faultinject.sweep import Options, Sweep
from faultinject.targets import TargetSpec
from tests.sweep._collected import Collected

SOURCE = """
import os

def connect():
    return 1

class Retries:
    def __init__(self):
        for _ in range(3):
            try:
                self.connection = connect()
                break
            except RuntimeError as error:
                last = error
        else:
            raise last

class OpensAgain:
    def __init__(self):
        for _ in range(3):
            try:
                self.fd = os.open(os.devnull, os.O_RDONLY)
                break
            except RuntimeError as error:
                last = error
        else:
            raise last

    def close(self):
        os.close(self.fd)
"""


@pytest.mark.parametrize(
    ("name", "phase"), [("Retries", "before"), ("Retries", "after"), ("OpensAgain", "before")]
)
@pytest.mark.parametrize(("times", "verdict"), [(1, "handled"), (2, "handled"), (3, "clean"), (0, "clean")])
def test_three_tries_withstand_two_faults_and_not_three(
    tmp_path: Path, name: str, phase: str, times: int, verdict: str
) -> None:
    (tmp_path / "retrying.py").write_text(SOURCE)
    collected = Collected()
    Sweep(
        Options(
            target=TargetSpec(f"retrying:{name}", "close" if name == "OpensAgain" else "", str(tmp_path)),
            faults=("RuntimeError",),
            times=times,
            filter=PointFilter(phases=(phase,)),  # type: ignore[arg-type]
            runner="zygote",
            jobs=1,
            repeats=1,
        ),
        collected,
    ).run()
    (result,) = collected.results.values()
    assert (result.verdict, result.violation) == (verdict, False)
