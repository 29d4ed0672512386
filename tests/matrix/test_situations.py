from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from faultinject.errors import UsageError
from faultinject.matrix import SituationRow, format_matrix, read_matrix, update_matrix
from tests.reports._sample import CALLEES, POINTS, RECORDING, point, problem, result

LATE = SituationRow("the heap is frozen too late", CALLEES[4])
RELEASE_FAILS = SituationRow(
    "the executor's release fails as well", CALLEES[4], "before", "executor.shutdown/before"
)


def judged(second: str = "", *problems: object) -> object:
    return msgspec.structs.replace(result(point(5), *problems), second=second, second_reached=bool(second))


def test_what_is_owned_and_what_must_go_comes_from_the_ownership_table(tmp_path: Path) -> None:
    path = tmp_path / "acme.toml"
    path.write_text(format_matrix(RECORDING, [judged("", problem())], situations=[LATE]))
    (row,) = read_matrix(path).situation
    assert row.owned == ("executor", "scheduler")
    assert row.must_release == ("executor", "scheduler")
    assert row.verdicts == {"RuntimeError": "leak"}
    assert row.step == 5


def test_a_second_fault_is_a_situation_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "acme.toml"
    results = [judged("", problem()), judged("executor.shutdown/before/RuntimeError")]
    path.write_text(format_matrix(RECORDING, results, situations=[LATE, RELEASE_FAILS]))
    plain, failing = read_matrix(path).situation
    assert plain.verdicts == {"RuntimeError": "leak"}
    assert failing.verdicts == {"RuntimeError": "clean"}
    assert failing.second == "executor.shutdown/before"


def test_what_a_person_wrote_is_kept_and_the_rest_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "acme.toml"
    stale = msgspec.structs.replace(LATE, owned=("executor",), step=3, verdicts={"RuntimeError": "hang"})
    path.write_text(format_matrix(RECORDING, situations=[LATE]).replace("step = 5\nowned", "step = 3\nowned"))
    update_matrix(path, RECORDING, [judged()])
    (row,) = read_matrix(path).situation
    assert (row.name, row.callee, row.phase) == (stale.name, stale.callee, stale.phase)
    assert (row.step, row.verdicts) == (5, {"RuntimeError": "clean"})


def test_a_call_that_the_target_does_not_make_is_refused() -> None:
    with pytest.raises(UsageError, match=r"situation 'x': acme:Engine makes no call of 'm:gone'"):
        format_matrix(RECORDING, situations=[SituationRow("x", "m:gone")])


def test_two_situations_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "acme.toml"
    path.write_text(format_matrix(RECORDING, situations=[LATE, LATE]))
    with pytest.raises(UsageError, match="2 rows are named 'the heap is frozen too late': keep one"):
        read_matrix(path)


def test_points_of_the_sample_are_what_these_tests_take_them_for() -> None:
    assert any(p.step == 5 and p.phase == "before" and p.callee == CALLEES[4] for p in POINTS)
