"""What is owned at a step, and in which order it must go."""

from __future__ import annotations

from collections.abc import Iterable

from faultinject.facts import Owned


def owned_at(owned: Iterable[Owned], step: int) -> tuple[Owned, ...]:
    """What the target owns when a fault comes in or at the end of its call number `step`.

    The call's own result is not among it, in either phase: nothing was handed over yet.
    """
    return tuple(sorted((o for o in owned if o.step < step), key=lambda o: (o.step, o.name)))


def release_order(owned: Iterable[Owned]) -> tuple[Owned, ...]:
    """Newest first; those with a place in the target's normal shutdown take that order among themselves."""
    newest_first = sorted(owned, key=lambda o: (-o.step, o.name))
    placed = iter(sorted((o for o in newest_first if o.order), key=lambda o: o.order))
    return tuple(next(placed) if o.order else o for o in newest_first)


def must_release_at(owned: Iterable[Owned], step: int) -> tuple[Owned, ...]:
    """What must be released when a fault comes at `step`, first thing first."""
    return release_order(owned_at(owned, step))
