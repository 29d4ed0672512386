"""When a thing was given back is told to the moment, and the tool itself prolongs nothing's life."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultinject.sweep import Options, Sweep
from faultinject.targets import TargetSpec
from tests.sweep._collected import Collected

SOURCE = """
import os

def configure():
    pass

class Prompt:
    def __init__(self):
        file = open(os.devnull)
        try:
            configure()
        except BaseException:
            file.close()
            raise
        self.file = file

    def close(self):
        self.file.close()

class Held(Prompt):
    def __init__(self):
        self.file = open(os.devnull)
        configure()

class InACycle(Prompt):
    def __init__(self):
        self.me = self
        self.file = open(os.devnull)
        configure()

    def close(self):
        self.file.close()
        self.me = None

class Forgotten:
    def __init__(self):
        self.fd = os.open(os.devnull, os.O_RDONLY)
        configure()

    def close(self):
        os.close(self.fd)
"""


@pytest.mark.parametrize(
    ("name", "verdict", "grade"),
    [
        ("Prompt", "clean", None),
        ("Held", "late", "dropped"),
        ("InACycle", "late", "collected"),
        ("Forgotten", "leak", "exit"),
    ],
)
def test_a_thing_is_graded_by_the_moment_at_which_it_went(
    tmp_path: Path, name: str, verdict: str, grade: str | None
) -> None:
    (tmp_path / "graded.py").write_text(SOURCE)
    collected = Collected()
    options = Options(
        target=TargetSpec(f"graded:{name}", "close", str(tmp_path)), runner="zygote", jobs=1, repeats=1
    )
    Sweep(options, collected).run()
    cases = [r for r in collected.results.values() if r.point.callee == "graded:configure"]
    assert len(cases) == 4
    for result in cases:
        assert (result.verdict, result.grade) == (verdict, grade), result
