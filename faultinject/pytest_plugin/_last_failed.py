"""Lets ``--lf`` know a test again whose line has moved, as where the target is mended."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest

_LINE = re.compile(r"(?<=[^\s:]):\d+(?= )")


def keep(config: pytest.Config, prefix: str, now: Iterable[str]) -> dict[str, str]:
    """Have what failed last known by its id of now.

    Args:
        prefix: of the ids in question; others are not touched.
        now: all ids that there are.

    Returns:
        By id of now, the one by which the test was known.
    """
    last = _last(config)
    there = set(now)
    gone = [key for key in last if str(key).startswith(prefix) and str(key) not in there]
    moved = {_LINE.sub("", nodeid): nodeid for nodeid in there}
    found: dict[str, str] = {}
    for key in gone:
        fresh = moved.get(_LINE.sub("", str(key)))
        if fresh is not None:
            made = fresh if isinstance(key, str) else type(key).parse(fresh)
            last[made] = last.pop(key)
            found[fresh] = str(key)
    return found


def forget(config: pytest.Config, nodeid: str) -> None:
    """Forget a test that has another id now, in the process that writes down what failed."""
    last = _last(config)
    for key in [key for key in last if str(key) == nodeid]:
        del last[key]


def _last(config: pytest.Config) -> dict[Any, bool]:
    """What failed last. Its keys are texts, and since pytest 9.2 values that print as the same texts."""
    return getattr(config.pluginmanager.get_plugin("lfplugin"), "lastfailed", {})
