"""The version in which a case changed is found, with few looks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultinject.gate._bisect import FirstChange, first_change


def looked(words: str) -> tuple[FirstChange | None, list[int]]:
    """What is found where each letter is what a version shows, and which were looked at."""
    asked: list[int] = []

    def word_at(place: int) -> str:
        asked.append(place)
        return words[place]

    return first_change(len(words), word_at), asked


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("lc", (0, 1, "l", "c")),
        ("llllcc", (3, 4, "l", "c")),
        ("lccccc", (0, 1, "l", "c")),
        ("lllllc", (4, 5, "l", "c")),
        ("llcll", (1, 2, "l", "c")),
        ("lll", None),
        ("ll", None),
    ],
)
def test_the_first_that_differs_is_found(words: str, found: tuple[int, int, str, str] | None) -> None:
    assert looked(words)[0] == found


def test_one_change_among_a_hundred_takes_nine_looks_and_each_version_one() -> None:
    found, asked = looked("l" * 63 + "c" * 37)
    assert found == (62, 63, "l", "c")
    assert len(asked) == len(set(asked)) == 9


@given(st.text("abc", min_size=2, max_size=12))
def test_what_is_found_is_a_change_and_is_missed_only_where_there_is_none(words: str) -> None:
    found, asked = looked(words)
    assert len(asked) == len(set(asked))
    if found is None:
        assert set(words) == {words[0]}
    else:
        assert found.first == found.last + 1
        assert words[found.last] == found.was == words[0] != words[found.first] == found.is_now
