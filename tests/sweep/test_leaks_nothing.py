"""The tool is held to what it asks of others."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from faultinject.probes import ProbeSet, diff, load_probes
from tests.sweep._collected import swept

TARGET = '''
class Long:
    """Two hundred and fifty calls, a fault point before and one after each."""
    def __init__(self):
        for part in PARTS:
            part()

def make(number):
    made = {"__name__": __name__}
    exec(f"def part_{number}(): pass", made)
    return made[f"part_{number}"]

PARTS = [make(number) for number in range(250)]
'''


def test_after_a_thousand_cases_everything_is_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "long.py").write_text(TARGET)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    probes = ProbeSet(load_probes(["fds", "threads", "processes", "sockets"], plugins=False))
    before = probes.snapshot("all")
    collected = swept(tmp_path, "long:Long", faults=("RuntimeError", "KeyboardInterrupt"), jobs=2)
    added, _ = diff(before, probes.snapshot("all"))
    assert len(collected.results) == 1000
    assert added == []
    assert list(temporary.iterdir()) == []
