"""A process that the target forks is no part of the target's dynamic extent: it runs without the hooks.

`os.fork` copies them with everything else, so a worker made by multiprocessing would be followed too, and
hit by the fault a second time. Only the fork runner wants its copies to go on hearing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

_removers: list[Callable[[], None]] = []
_copying = False


def hears(remove: Callable[[], None]) -> None:
    """Note a backend that was just installed; `remove` takes it out again."""
    _removers.append(remove)


def hears_no_more(remove: Callable[[], None]) -> None:
    """Note that a backend was removed. Safe to call twice."""
    with contextlib.suppress(ValueError):
        _removers.remove(remove)


@contextlib.contextmanager
def copying() -> Iterator[None]:
    """While this lasts, a fork of this process keeps its hooks."""
    global _copying
    _copying = True
    try:
        yield
    finally:
        _copying = False


def _in_the_child() -> None:
    if not _copying:
        for remove in _removers[:]:
            remove()


os.register_at_fork(after_in_child=_in_the_child)
