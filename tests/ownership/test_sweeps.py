"""The transaction is judged by the sweep: no target of these shows a violation, at any point."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ownership.judged import JUDGED, Judged, is_red, sweep
from tests.sweep._collected import Collected

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("judged", JUDGED, ids=lambda judged: judged.name)
def test_nothing_is_charged_to_the_transaction(judged: Judged) -> None:
    collected = Collected()
    sweep(judged, ROOT, collected)
    found = collected.results.values()
    red = [f"{one.point} {one.verdict} {one.problems}" for one in found if is_red(one, judged)]
    assert found, "nothing was swept"
    assert not red, "\n".join(red)
    assert not any(one.verdict in ("not-reached", "unstable") for one in found)
