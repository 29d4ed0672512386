"""How a target names the processes it starts, and the moments of its start-up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final, Literal

import msgspec

from faultinject.errors import UsageError

CALLER: Final = "caller"
UP: Final = "process up"
READY: Final = "ready"
EXIT: Final = "process exit"

_KINDS: Final = ("process", "argv", "title", "start")


class Milestone(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A named moment of a start-up: a function of one role's processes begins, or has returned.

    Attributes:
        role: of the processes in which it counts: ``engine``, or ``worker`` for each ``worker[N]``.
        name: what it is called, such as ``scheduler``.
        at: ``module:qualname`` of the function, or of a class for its constructor.
        phase: ``before``: the function is about to run. ``after``: it has returned.
    """

    role: str
    name: str
    at: str
    phase: Literal["before", "after"] = "after"


class Roles:
    """Which process has which role.

    Args:
        rules: role -> how its process is recognised: ``process:GLOB`` by the name that `multiprocessing` has
            for it, ``argv:GLOB`` by its arguments joined by spaces, ``title:GLOB`` by its command line as it
            stands, ``start:N`` by its place in the order of start, 0 for the first that the caller starts. A
            role ``NAME[*]`` is that of several: each gets the number that the last ``*`` of its glob stands
            for, else the next free one. The first rule that fits counts; a process that none fits is
            ``process[N]``.

    Raises:
        UsageError: a rule is none of these.
    """

    def __init__(self, rules: Mapping[str, str]) -> None:
        for role, rule in rules.items():
            kind, _, pattern = rule.partition(":")
            if kind not in _KINDS or not pattern or (kind == "start" and not pattern.isdecimal()):
                raise UsageError(
                    f"role {role!r}: {rule!r} says not how its process is recognised; write "
                    "process:GLOB, argv:GLOB, title:GLOB or start:N"
                )
            if role == CALLER:
                raise UsageError(
                    f"role {CALLER!r} is that of the process that calls the target; name another"
                )
        self.rules = dict(rules)

    def role_of(self, process: str, argv: str, title: str, order: int, taken: Iterable[str]) -> str:
        """The role of a process that has just said that it is up.

        Args:
            process: its name in `multiprocessing`, if it has one.
            argv: its arguments, joined.
            title: its command line as it stands now.
            order: its place in the order of start.
            taken: roles that living processes have.
        """
        has = {"process": process, "argv": argv, "title": title}
        used = set(taken)
        for role, rule in self.rules.items():
            kind, _, pattern = rule.partition(":")
            if kind == "start":
                fits = order == int(pattern)
            else:
                fits = bool(has[kind]) and fnmatchcase(has[kind], pattern)
            if not fits:
                continue
            if not role.endswith("[*]"):
                return role if role not in used else _next(f"{role}+", used)
            number = _number(pattern, has.get(kind, ""))
            numbered = f"{role[:-3]}[{number}]" if number is not None else ""
            return numbered if numbered and numbered not in used else _next(role[:-3], used)
        return f"process[{order}]"


def is_of(role: str, pattern: str) -> bool:
    """Whether the role of a process is `pattern`, or one of those that it numbers."""
    return role == pattern or (role.startswith(f"{pattern}[") and role.endswith("]"))


def check_milestones(milestones: Iterable[Milestone]) -> None:
    """See that each can be a milestone.

    Raises:
        UsageError: a place is not ``module:qualname``, or two milestones of a role have one name.
    """
    seen: set[tuple[str, str]] = set()
    for one in milestones:
        module, colon, qualname = one.at.partition(":")
        if not (
            colon and module.replace(".", "_").isidentifier() and qualname.replace(".", "_").isidentifier()
        ):
            raise UsageError(f"milestone {one.name!r}: {one.at!r} is no module:qualname")
        if (one.role, one.name) in seen or (one.name in (UP, EXIT)) or "/" in one.name:
            raise UsageError(f"milestone {one.name!r} of {one.role}: the name is taken or holds a slash")
        seen.add((one.role, one.name))


def role_order(role: str) -> tuple[object, ...]:
    """Sorts roles: the caller, then by name and number."""
    found = re.fullmatch(r"(.*?)(?:\[(\d+)\])?", role)
    assert found is not None
    return (role != CALLER, found[1] == "process", found[1], int(found[2] or 0))


def _number(pattern: str, text: str) -> int | None:
    _, star, after = pattern.rpartition("*")
    if not star:
        return None
    found = re.search(rf"(\d+){re.escape(after)}$", text)
    return int(found[1]) if found else None


def _next(name: str, used: set[str]) -> str:
    number = 0
    while f"{name}[{number}]" in used:
        number += 1
    return f"{name}[{number}]"
