"""A function of somebody else's, run with other globals."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from engine._rebound import globals_of, rebound

NAME = "module's"


def told(*, mark: str = "!") -> str:
    return NAME + mark


def traced(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return ["traced", function(*args, **kwargs)]

    return wrapper


class Kept:
    """A decoration that keeps what it wraps as an attribute."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)

    def __call__(self) -> Any:
        raise AssertionError("its function is not to be found")


def test_a_name_is_bound_anew_in_the_copy_alone() -> None:
    assert rebound(told, NAME="ours")() == "ours!"
    assert told() == "module's!"


def test_a_decoration_stays_around_the_copy() -> None:
    assert rebound(traced(traced(told)), NAME="ours")(mark="?") == ["traced", ["traced", "ours?"]]
    assert globals_of(traced(told)) is globals()


def test_a_decoration_that_cannot_be_copied_is_left_out() -> None:
    assert rebound(Kept(told), NAME="ours")() == "ours!"
