"""One target's cases, judged as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from faultinject.errors import TargetError
from faultinject.sweep import CaseByCase, Options, Sweep
from faultinject.targets import TargetSpec
from tests.sweep._collected import Collected

CLIENT = """
import os
import signal

class Client:
    def __init__(self):
        self.inbox, self.outbox = os.pipe()
        try:
            os.getppid()
        except OSError:
            os.kill(os.getppid(), signal.SIGKILL)
        os.getuid()

    def close(self):
        os.close(self.inbox)
        os.close(self.outbox)
"""


@pytest.fixture
def options(tmp_path: Path) -> Options:
    (tmp_path / "asked.py").write_text(CLIENT)
    return Options(
        target=TargetSpec("asked:Client", "close", str(tmp_path)),
        faults=("RuntimeError",), jobs=1, repeats=2,
    )  # fmt: skip


@pytest.fixture
def flow(options: Options) -> Iterator[CaseByCase]:
    with CaseByCase(options) as one:
        yield one


def test_cases_asked_for_one_by_one_have_the_verdicts_of_a_sweep(flow: CaseByCase, options: Options) -> None:
    collected = Collected()
    Sweep(options, collected).run()
    flow.expect(flow.cases)
    alone = {case.id: flow.judge([case])[0].result for case in flow.cases}
    swept = {result.id: result for result in collected.results.values()}
    assert {i: (r.verdict, r.violation) for i, r in alone.items()} == {
        i: (r.verdict, r.violation) for i, r in swept.items()
    }
    assert any(r.violation for r in alone.values())
    # What accuses was confirmed, and seen as often as asked for; one clean case speaks for its kind.
    assert all(r.confirmed and len(r.runs) >= 2 for r in alone.values() if r.violation)
    assert all(r.confirmed or r.confirmed_by for r in alone.values())


def test_a_case_asked_for_again_is_run_again_and_shows_what_was_seen(flow: CaseByCase) -> None:
    case = flow.cases[-1]
    first, second = flow.judge([case])[0], flow.judge([case])[0]
    assert first.observation is not None
    assert second.observation is not None
    assert first.observation.left[0].key != second.observation.left[0].key or first != second
    assert second.result.runs == (second.result.verdict,) * 2


def test_a_case_that_ends_its_lane_is_said_to_and_the_flow_is_over(options: Options) -> None:
    import msgspec

    deadly = msgspec.structs.replace(options, faults=("OSError:EIO",), runner="zygote")
    with CaseByCase(deadly) as flow:
        case = next(c for c in flow.cases if "getppid" in c.point.callee and c.point.phase == "before")
        with pytest.raises(TargetError, match="was ended from outside"):
            flow.judge([case])
        with pytest.raises(RuntimeError, match="the flow is closed"):
            flow.judge([case])
