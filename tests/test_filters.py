from __future__ import annotations

import pytest

from faultinject.errors import UsageError
from faultinject.facts import Phase, Point
from faultinject.filters import PointFilter
from faultinject.points import point_key


def point(caller: str, callee: str, phase: Phase = "before") -> Point:
    return Point("sites", phase, caller, callee, 1)


LOAD = point("acme.engine:Engine.__init__", "acme.models.loader:Loader.load_model")
READ = point("acme.models.loader:Loader.load_model", "builtins:open")
LOG = point("acme.engine:Engine.__init__", "logging:Logger.info", "after")
POINTS = (LOAD, READ, LOG)
STACKS = {
    point_key(LOAD): ("acme.engine:Engine.__init__",),
    point_key(READ): ("acme.engine:Engine.__init__", "acme.models.loader:Loader.load_model"),
    point_key(LOG): ("acme.engine:Engine.__init__",),
}


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (PointFilter(), POINTS),
        (PointFilter(modules=("acme.models",)), (LOAD, READ)),
        (PointFilter(modules=("acme",)), POINTS),
        (PointFilter(modules=("logging", "builtins")), (READ, LOG)),
        (PointFilter(modules=("acme.*.loader",)), (LOAD, READ)),
        (PointFilter(modules=("caller=acme.models",)), (READ,)),
        (PointFilter(modules=("callee=acme.models.loader",)), (LOAD,)),
        (PointFilter(exclude_modules=("logging",)), (LOAD, READ)),
        (PointFilter(names=("Loader",)), (LOAD, READ)),
        (PointFilter(names=("load_model",)), (LOAD, READ)),
        (PointFilter(names=("builtins:open",)), (READ,)),
        (PointFilter(names=("callee=Lo*",)), (LOAD, LOG)),
        (PointFilter(names=("acme.engine:Engine",)), (LOAD, LOG)),
        (PointFilter(exclude_names=("*.info", "open")), (LOAD,)),
        (PointFilter(stack_has=("load_model",)), (READ,)),
        (PointFilter(stack_has=("Engine", "Loader.*")), (READ,)),
        (PointFilter(stack_lacks=("load_model",)), (LOAD, LOG)),
        (PointFilter(phases=("after",)), (LOG,)),
        (PointFilter(modules=("acme.models",), stack_lacks=("load_model",)), (LOAD,)),
    ],
)
def test_a_filter_chooses_points_in_their_order(chosen: PointFilter, expected: tuple[Point, ...]) -> None:
    assert chosen.apply(POINTS, STACKS) == expected
    assert tuple(p for p in POINTS if chosen.matches(p, STACKS[point_key(p)])) == expected


def test_without_a_stack_the_caller_stands_for_it() -> None:
    assert PointFilter(stack_has=("load_model",)).apply(POINTS) == (READ,)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (
            PointFilter(modules=("acme.model",)),
            "--module acme.model fits none of 3 fault points; near: acme.mod",
        ),
        (PointFilter(exclude_modules=("torch",)), "--exclude-module torch fits none"),
        (PointFilter(names=("Loader.load_modle",)), "near: Loader.load_model"),
        (PointFilter(names=("load",)), "--name load fits none"),
        (PointFilter(names=("callee=Engine*",)), "--name callee=Engine* fits none"),
        (PointFilter(exclude_names=("*.warn",)), "--exclude-name *.warn fits none"),
        (PointFilter(stack_has=("Engin.__init__",)), "--stack-has Engin.__init__ fits none"),
        (PointFilter(stack_lacks=("shutdown",)), "--stack-lacks shutdown fits none"),
        (PointFilter(names=("Loader",), exclude_names=("gone",)), "--exclude-name gone"),
        (
            PointFilter(modules=("logging",), phases=("before",)),
            "the filters together leave none of 3 fault points",
        ),
    ],
)
def test_each_filter_that_fits_nothing_is_an_error_that_names_it(chosen: PointFilter, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        chosen.apply(POINTS, STACKS)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_phase_that_no_point_has_is_an_error() -> None:
    with pytest.raises(UsageError, match="--phases after fits none of 2"):
        PointFilter(phases=("after",)).apply((LOAD, READ), STACKS)


def test_an_empty_pattern_or_unknown_phase_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="--name 'callee=' is empty"):
        PointFilter(names=("callee=",))
    with pytest.raises(UsageError, match="unknown phase 'while'"):
        PointFilter(phases=("while",))  # type: ignore[arg-type]


def test_a_filter_can_be_written_as_options() -> None:
    chosen = PointFilter(modules=("a",), stack_lacks=("f", "g"), phases=("before",))
    assert chosen.describe() == "--module a --stack-lacks f --stack-lacks g --phases before"
    assert PointFilter().describe() == ""
