"""What differs between two recordings of a target: fault points and ownership."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from faultinject.facts import Level, Owned, Phase
from faultinject.points import PHASES, describe_point, parse_point_key, short_name
from faultinject.sweep import can_fail

ORDERED: frozenset[Level] = frozenset({"steps", "opcodes", "milestones"})
"""Levels at which the points come in the order of the target's own calls; deeper, threads may change it."""
_NUMBERED = re.compile(r"#[0-9]+\Z")


class Move(NamedTuple):
    """A fault point that is elsewhere now: another frame makes the call, or it comes in another order."""

    before: str
    after: str


class PointChanges(NamedTuple):
    """How two sets of fault points differ; each is named by its key."""

    appeared: tuple[str, ...] = ()
    vanished: tuple[str, ...] = ()
    moved: tuple[Move, ...] = ()

    def __bool__(self) -> bool:
        return any(self)


def point_changes(before: Sequence[str], after: Sequence[str], level: Level) -> PointChanges:
    """What appeared, vanished and moved from `before` to `after`.

    A call that is gone here and new there, of the same thing and in the same phase, has moved to another
    frame. Points that both have, and that come in another order, have moved if the order means something at
    the level: as few as possible of them are said to have.

    Args:
        before, after: keys of points, in their order.
    """
    old, new = set(before), set(after)
    appeared = [key for key in after if key not in old]
    vanished = [key for key in before if key not in new]
    moves: list[Move] = []
    waiting: dict[tuple[str, str], list[str]] = defaultdict(list)
    for key in vanished:
        waiting[_call_of(key)].append(key)
    for key in list(appeared):
        same = waiting[_call_of(key)]
        if same:
            moves.append(Move(same.pop(0), key))
            appeared.remove(key)
            vanished.remove(moves[-1].before)
    if level in ORDERED:
        moves += [Move(key, key) for key in _out_of_order(before, after)]
    return PointChanges(tuple(appeared), tuple(vanished), tuple(moves))


def describe_keys(keys: Iterable[str]) -> list[str]:
    """The points in words, both phases of a call in one line."""
    calls: dict[str, list[Phase]] = {}
    for key in keys:
        point = parse_point_key(key)
        text = describe_point(point).removeprefix(f"{point.phase} ")
        calls.setdefault(text, []).append(point.phase)
    return [f"{' and '.join(p for p in PHASES if p in phases)} {text}" for text, phases in calls.items()]


def describe_moves(moves: Iterable[Move]) -> list[str]:
    """The moves in words, both phases of a call in one line."""
    said: dict[str, None] = {}
    for move in moves:
        old, new = parse_point_key(move.before), parse_point_key(move.after)
        if move.before == move.after:
            said[f"{short_name(new.callee)} ({short_name(new.caller)}) comes in another order"] = None
        else:
            said[f"{short_name(new.callee)}: called by {_caller(new.caller, old.caller)}"] = None
    return list(said)


class OwnedRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What of a row of the ownership table is the same in every run, on any machine.

    Attributes:
        release, order: ``""`` and 0 where an owned thing is no object that is told to go. A thread, or a
            descriptor that a thread closes, goes while any call may be running: the recording's word on what
            gave it back, and when, is of that run.
    """

    name: str
    callee: str
    release: str = ""
    holder: str = ""
    order: int = 0


def plain_name(name: str) -> str:
    """The name of something owned without what tells it from others of its kind: ``fds`` for ``fds#3``.

    That is the step, which a call more above it changes.
    """
    return _NUMBERED.sub("", name)


def owned_rows(owned: Iterable[Owned]) -> tuple[OwnedRow, ...]:
    """The rows of a recording, in the order in which the target comes to own them."""
    return tuple(
        OwnedRow(
            plain_name(one.name),
            one.callee,
            one.release if can_fail(one) else "",
            one.holder,
            one.order if can_fail(one) else 0,
        )
        for one in sorted(owned, key=lambda one: (one.step, one.name))
    )


def ownership_changes(before: Sequence[OwnedRow], after: Sequence[OwnedRow]) -> tuple[str, ...]:
    """How two ownership tables differ, in words."""
    old, new = _by_name(before), _by_name(after)
    said: list[str] = []
    for key, row in new.items():
        if key not in old:
            said.append(f"{row.name} is owned from {short_name(row.callee)} on, and was not")
            continue
        was = old[key]
        if was.callee != row.callee:
            said.append(
                f"{row.name} comes from {short_name(row.callee)}, and came from {short_name(was.callee)}"
            )
        if was.release != row.release:
            now, then = row.release or "nothing", was.release or "nothing"
            said.append(f"{row.name} is given back by {now}, and was by {then}")
        if was.holder != row.holder:
            said.append(
                f"{row.name} is kept in {row.holder or 'no place'}, and was in {was.holder or 'no place'}"
            )
    said += [
        f"{row.name} is owned no more; it was from {short_name(row.callee)} on"
        for key, row in old.items()
        if key not in new
    ]
    ours, theirs = _order_of(new, old), _order_of(old, new)
    if ours != theirs:
        said.append(f"the target's own shutdown has the order {', '.join(ours)}, and had {', '.join(theirs)}")
    return tuple(said)


def _caller(now: str, was: str) -> str:
    if short_name(now) != short_name(was):
        return f"{short_name(now)}, and was by {short_name(was)}"
    return f"{now}, and was by {was}" if now != was else f"{short_name(now)}, by another way"


def _call_of(key: str) -> tuple[str, str]:
    point = parse_point_key(key)
    return point.phase, point.callee


def _out_of_order(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """The points that both have and that are not in the longest run which kept its order."""
    place = {key: number for number, key in enumerate(before)}
    common = [key for key in after if key in place]
    ends: list[int] = []
    last: list[int] = []
    previous: list[int] = []
    for number, key in enumerate(common):
        at = bisect_left(ends, place[key])
        previous.append(last[at - 1] if at else -1)
        if at == len(ends):
            ends.append(place[key])
            last.append(number)
        else:
            ends[at], last[at] = place[key], number
    kept: set[int] = set()
    number = last[-1] if last else -1
    while number >= 0:
        kept.add(number)
        number = previous[number]
    return [key for number, key in enumerate(common) if number not in kept]


def _by_name(rows: Sequence[OwnedRow]) -> dict[tuple[str, int], OwnedRow]:
    found: dict[tuple[str, int], OwnedRow] = {}
    for row in rows:
        number = sum(name == row.name for name, _ in found)
        found[row.name, number] = row
    return found


def _order_of(
    rows: Mapping[tuple[str, int], OwnedRow], others: Mapping[tuple[str, int], OwnedRow]
) -> list[str]:
    """What both tables have a place for in the normal shutdown, in that order."""
    placed = [
        (row.order, key) for key, row in rows.items() if row.order and key in others and others[key].order
    ]
    return [name for _, (name, _) in sorted(placed)]
