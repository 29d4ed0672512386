"""Does a probe keep its promises? For the tests of whoever writes one."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import get_args

from faultinject.facts import Item
from faultinject.probes._compare import state_changed
from faultinject.probes._protocol import Cost, Nature, Probe

_TIMES = 20
_ATTRIBUTES: tuple[tuple[str, type], ...] = (
    ("name", str),
    ("nature", str),
    ("cost", str),
    ("fork_visible", bool),
    ("private", bool),
)
_METHODS = ("unavailable", "snapshot")


def shape_problems(probe: object) -> Iterator[tuple[str, str]]:
    """What keeps an object from being a probe, as ``(attribute, what is wrong)``; calls nothing."""
    for name, kind in _ATTRIBUTES:
        value = getattr(probe, name, None)
        if value is None:
            yield name, "is missing"
        elif not isinstance(value, kind):
            yield name, f"is {value!r}, not {kind.__name__}"
    if getattr(probe, "name", None) == "":
        yield "name", "is empty"
    for name, allowed in (("nature", get_args(Nature)), ("cost", get_args(Cost))):
        value = getattr(probe, name, None)
        if isinstance(value, str) and value not in allowed:
            yield name, f"is {value!r}, not one of {', '.join(allowed)}"
    for name in _METHODS:
        if not callable(getattr(probe, name, None)):
            yield name, "is missing" if not hasattr(probe, name) else "is not callable"


def check_probe(probe: Probe) -> None:
    """Checks a probe where it stands, in a process in which nothing else is going on.

    Two snapshots of an unchanged process are equal; keys and items are of the right types; resources have
    no value; a snapshot imports nothing, and leaves no descriptor, thread or environment variable behind,
    nor the collector in another state.

    Raises:
        AssertionError: one line for each promise that was broken.
    """
    problems = [f"{name} {what}" for name, what in shape_problems(probe)]
    if not problems:
        problems = list(_behaviour(probe))
    if problems:
        shown = getattr(probe, "name", None) or type(probe).__name__
        raise AssertionError("\n".join(f"probe {shown!r}: {problem}" for problem in problems))


def _behaviour(probe: Probe) -> Iterator[str]:
    reason: object = probe.unavailable()
    if reason is not None:
        if not isinstance(reason, str) or not reason:
            yield f"unavailable() must say why in words, or return None, not {reason!r}"
        return
    # The first look may fill what the probe keeps between looks.
    probe.snapshot()
    modules = set(sys.modules)
    world = _world()
    taken: list[object] = [probe.snapshot() for _ in range(_TIMES)]
    yield from (f"snapshot() imported {name}" for name in sorted(set(sys.modules) - modules))
    for (what, was), (_, now) in zip(world, _world(), strict=True):
        if was != now:
            yield f"snapshot() changed the process: {what} were {was}, now {now}"
    seen: list[Mapping[str, Item]] = []
    for one in taken:
        if not isinstance(one, Mapping):
            yield f"snapshot() returned {type(one).__name__}, not a mapping"
            return
        seen.append(one)
    problems = list(_types(probe, seen[-1]))
    if not problems:
        # Names on disk are everybody's, so some differences may come from outside; not each time.
        attempts = [list(_differences(probe, *pair)) for pair in itertools.pairwise(seen)]
        problems = attempts[-1] if all(attempts) else []
    yield from problems


def _differences(probe: Probe, first: Mapping[str, Item], last: Mapping[str, Item]) -> Iterator[str]:
    for key in sorted(first.keys() | last.keys()):
        was, now = first.get(key), last.get(key)
        if probe.nature == "state":
            if state_changed(probe, key, was, now):
                yield f"two snapshots of an unchanged process differ in {key!r}: {was} and {now}"
        elif (was is None) != (now is None):
            yield f"two snapshots of an unchanged process differ: {key!r} is in one of them"


def _types(probe: Probe, taken: Mapping[str, Item]) -> Iterator[str]:
    pairs: Iterable[tuple[object, object]] = taken.items()
    for key, item in pairs:
        if not isinstance(key, str):
            yield f"key {key!r} is not text"
        if not isinstance(item, Item):
            yield f"{key!r} is {type(item).__name__}, not Item"
            continue
        if not item.label or not item.group:
            yield f"the item {key!r} lacks a label or a group"
        if item.unit not in ("", "bytes"):
            yield f"the unit of {key!r} is {item.unit!r}, neither '' nor 'bytes'"
        if probe.nature == "resource" and item.value:
            yield f"the item {key!r} of a resource has a value"


def _world() -> list[tuple[str, object]]:
    import gc
    import threading

    return [
        ("descriptors", len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0),
        ("Python threads", threading.active_count()),
        ("environment variables", len(os.environ)),
        ("collector settings", (gc.isenabled(), gc.get_threshold(), gc.get_debug())),
    ]
