"""The first of several versions in which something is other than in the oldest."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class FirstChange(NamedTuple):
    """Between which two versions something changed.

    Attributes:
        last: the place of the last version that is as the oldest.
        first: that of the next one, which is not.
        was, is_now: what they show.
    """

    last: int
    first: int
    was: str
    is_now: str


def first_change(number: int, word_at: Callable[[int], str]) -> FirstChange | None:
    """Find a change by halving, as ``git bisect`` does; None where every version shows the same.

    Where there are several changes, one of them is found, and both its sides were looked at. Where the oldest
    and the newest show the same, those between are looked at one after the other.

    Args:
        number: of versions, at least 2, the oldest first.
        word_at: what the version at that place shows; costly, and asked once for each.
    """
    known: dict[int, str] = {}

    def word(place: int) -> str:
        if place not in known:
            known[place] = word_at(place)
        return known[place]

    was, last, first = word(0), 0, number - 1
    if word(first) == was:
        first = next((place for place in range(1, number - 1) if word(place) != was), 0)
        if not first:
            return None
        return FirstChange(first - 1, first, was, word(first))
    while first - last > 1:
        middle = (last + first) // 2
        if word(middle) == was:
            last = middle
        else:
            first = middle
    return FirstChange(last, first, was, word(first))
