"""Which points a sample holds."""

from __future__ import annotations

from faultinject.points import Point
from faultinject.sweep import Options
from faultinject.sweep._plan import sampled
from faultinject.targets import TargetSpec


def points(sites: int, calls: int) -> list[Point]:
    """Every site, with so many calls, in the order in which they come."""
    return [
        Point("sites", "before", f"m:f{site}", "m:g", call)
        for site in range(sites)
        for call in range(1, calls + 1)
    ]


def options(limit: int, seed: int = 0) -> Options:
    return Options(target=TargetSpec("m:f"), limit=limit, seed=seed)


def test_it_is_of_the_whole_run_where_the_sites_alone_are_too_many() -> None:
    every = points(sites=1000, calls=1)
    kept = sampled(every, options(100))
    places = [every.index(one) for one in kept]
    assert len(kept) == 100
    assert places == sorted(places)
    assert places[0] < 100
    assert places[-1] > 900


def test_the_first_two_calls_of_a_site_come_before_any_other() -> None:
    every = points(sites=10, calls=50)
    kept = sampled(every, options(40))
    assert {one for one in every if one.occurrence <= 2} <= set(kept)
    assert len(kept) == 40


def test_a_seed_gives_the_same_sample_again_and_another_gives_another() -> None:
    every = points(sites=1000, calls=1)
    assert sampled(every, options(50)) == sampled(every, options(50))
    assert sampled(every, options(50)) != sampled(every, options(50, seed=1))


def test_without_a_limit_it_is_everything() -> None:
    every = points(sites=3, calls=3)
    assert sampled(every, options(0)) == every
