"""Matrices of several versions make one table."""

from __future__ import annotations

from collections import Counter

import pytest

from faultinject.errors import UsageError
from faultinject.matrix import Matrix, StepRow, in_order, totals, version_rows


def matrix(version: str, *calls: str, word: str = "clean", target: str = "app:Pool") -> Matrix:
    steps = tuple(
        StepRow(number, call, verdicts={"before RuntimeError": word, "after RuntimeError": {word: 2}})
        for number, call in enumerate(calls, 1)
    )
    return Matrix(1, target, version, step=steps)


def test_the_oldest_version_comes_first_and_numbers_are_numbers() -> None:
    versions = ["0.30.0", "0.9.1", "1.0.0", "0.28.0", "1.0.0rc1", "1.0.0.post2"]
    ordered = [one.version for one in in_order([matrix(version, "app:open") for version in versions])]
    assert ordered == ["0.9.1", "0.28.0", "0.30.0", "1.0.0rc1", "1.0.0", "1.0.0.post2"]


def test_a_call_that_only_some_versions_make_stands_where_it_was_made() -> None:
    old = matrix("1", "app:open", "app:greet", "app:start")
    new = matrix("2", "app:open", "app:check", "app:start", "app:start")
    rows = version_rows([old, new])
    assert [row.callee for row in rows] == ["app:open", "app:greet", "app:check", "app:start", "app:start"]
    made = [[words is not None for words in row.words] for row in rows]
    assert made == [[True, True], [True, False], [False, True], [True, True], [False, True]]


def test_the_words_of_all_columns_are_added_up() -> None:
    (row,) = version_rows([matrix("1", "app:open", word="leak")])
    assert row.words == (Counter({"leak": 3}),)


def test_totals_count_what_accuses_the_target_and_what_is_charged_beneath_it() -> None:
    assert totals(matrix("1", "app:open", "app:start", word="leak")) == (6, 6, 0)
    assert totals(matrix("1", "app:open", word="nested leak")) == (3, 0, 3)
    assert totals(matrix("1", "app:open", word="handled")) == (3, 0, 0)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (matrix("2", target="app:Other"), "matrices of app:Pool and of app:Other: give those of one target"),
        (matrix("1"), "two matrices of app:Pool 1: give one of each version"),
        (
            Matrix(1, "app:Pool", "2", level="sites"),
            "app:Pool 1 is of level steps, 2 of level sites: sweep both at the same level",
        ),
    ],
)
def test_matrices_that_do_not_belong_together_are_refused(other: Matrix, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        in_order([matrix("1"), other])
    assert str(caught.value) == message
