"""Who releases what was lent to it is accused; who gives something back through it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultinject.sweep import Options, Sweep
from faultinject.targets import TargetSpec
from tests.sweep._collected import Collected

SOURCE = """
class Pool:
    def __init__(self):
        self.taken = []
        self.open = True

    def take(self):
        self.taken.append(object())
        return self.taken[-1]

    def release(self, connection):
        self.taken.remove(connection)

    def close(self, wait=True):
        self.open = False

POOL = Pool()

def configure():
    pass

class Borrows:
    def __init__(self):
        self.connection = POOL.take()
        try:
            configure()
        except BaseException:
            POOL.release(self.connection)
            raise

class ClosesWhatWasLent:
    def __init__(self):
        self.connection = POOL.take()
        try:
            configure()
        except BaseException:
            POOL.close()
            raise
"""


@pytest.mark.parametrize(
    ("name", "verdict", "violation"),
    [("Borrows", "clean", False), ("ClosesWhatWasLent", "wrong-release", True)],
)
def test_a_pool_that_was_lent_is_not_to_be_closed(
    tmp_path: Path, name: str, verdict: str, violation: bool
) -> None:
    (tmp_path / "lent.py").write_text(SOURCE)
    collected = Collected()
    options = Options(
        target=TargetSpec(f"lent:{name}", "", str(tmp_path)), jobs=1, repeats=1, runner="zygote"
    )
    Sweep(options, collected).run()
    cases = [r for r in collected.results.values() if r.point.callee == "lent:configure"]
    assert cases
    assert {(r.verdict, r.violation) for r in cases} == {(verdict, violation)}
