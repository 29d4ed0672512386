"""What is done when a process comes to a milestone, as a plain value."""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec

from faultinject.errors import UsageError
from faultinject.faults import parse_fault
from faultinject.trees._declared import CALLER

SIGNALS: Final = ("SIGKILL", "SIGTERM", "SIGINT", "SIGSTOP")
"""What may be sent to a process of the tree."""
SYSTEM: Final = ("nospace", "nofile", "nofork", "portinuse", "nomemory")


class TreeFault(msgspec.Struct, frozen=True):
    """A fault in a tree of processes.

    Attributes:
        text: as the user wrote it; it says everything, the rest is only read from it.
        kind: ``exception`` (raised where the milestone is), ``signal`` (sent to a process), or ``system``
            (the system refuses the process something from then on).
        what: the exception's name, the signal's, or the system fault with its detail.
        role: whom it is done to; empty for the process that came to the milestone.
        continues: of a SIGSTOP, when SIGCONT follows: seconds (``2s``) or a milestone (``caller/ready``);
            empty for never.
    """

    text: str
    kind: Literal["exception", "signal", "system"]
    what: str
    role: str = ""
    continues: str = ""

    @property
    def ends(self) -> bool:
        """Whether it asks a process to end, or ends it."""
        return self.kind == "signal" and self.what != "SIGSTOP"

    @property
    def continues_after(self) -> float | None:
        """Seconds until SIGCONT, where it is said in seconds."""
        return float(self.continues[:-1]) if re.fullmatch(r"\d+(\.\d+)?s", self.continues) else None

    @property
    def port(self) -> int:
        """The port that is taken before the start, 0 for none."""
        name, _, detail = self.what.partition(":")
        return int(detail) if self.kind == "system" and name == "portinuse" and detail != "any" else 0


def parse_tree_fault(text: str) -> TreeFault:
    """The fault of ``FAULT``, ``FAULT@ROLE``, ``SIGSTOP@ROLE+2s`` or ``SIGSTOP@ROLE+ROLE/MILESTONE``.

    Raises:
        UsageError: the fault or a part of it is unknown.
    """
    what, at, role = text.strip().partition("@")
    role, plus, continues = role.partition("+")
    what, role, continues = what.strip(), role.strip(), continues.strip()
    if (at and not role) or (plus and not continues):
        raise UsageError(f"fault {text!r}: write FAULT@ROLE, as in SIGKILL@worker[0], or SIGSTOP@engine+2s")
    if what in SIGNALS:
        if plus and what != "SIGSTOP":
            raise UsageError(f"fault {text!r}: only a process that was stopped can go on; drop +{continues}")
        fault = TreeFault(text, "signal", what, role, continues)
        if plus and fault.continues_after is None and "/" not in continues:
            raise UsageError(
                f"fault {text!r}: SIGCONT follows after seconds, as in +2s, "
                "or at a milestone, as in +caller/ready"
            )
        if what == "SIGSTOP" and role == CALLER and not continues:
            raise UsageError(f"fault {text!r}: a caller that is stopped for ever has nobody to tell; add +2s")
        return fault
    if what.startswith("SIG"):
        raise UsageError(f"fault {text!r}: sent to a process of a tree are {', '.join(SIGNALS)}")
    if plus:
        raise UsageError(f"fault {text!r}: only SIGSTOP takes +{continues}")
    name, colon, detail = what.partition(":")
    if name in SYSTEM:
        return TreeFault(text, "system", _system(text, name, detail if colon else None), role)
    parse_fault(what)
    return TreeFault(text, "exception", what, role)


def parse_tree_faults(text: str) -> tuple[str, ...]:
    """The faults of a comma-separated list, checked, each once.

    Raises:
        UsageError: as of `parse_tree_fault`, or the list is empty.
    """
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise UsageError("--fault names no fault; such as SIGKILL@caller,RuntimeError,nofile")
    for name in names:
        parse_tree_fault(name)
    return names


def _system(text: str, name: str, detail: str | None) -> str:
    if name == "portinuse":
        if detail != "any" and not (detail and detail.isdecimal() and 0 < int(detail) < 65536):
            raise UsageError(f"fault {text!r}: write portinuse:any, or a port, as in portinuse:8000")
        return f"portinuse:{detail}"
    if name == "nospace":
        if detail not in (None, "/dev/shm"):
            raise UsageError(f"fault {text!r}: there can be no space in /dev/shm; write nospace:/dev/shm")
        return "nospace:/dev/shm"
    if name == "nomemory" and detail is not None:
        if not detail.isdecimal():
            raise UsageError(
                f"fault {text!r}: write nomemory, or what is still given in MiB, as in nomemory:64"
            )
        return f"nomemory:{detail}"
    if detail is not None:
        raise UsageError(f"fault {text!r}: {name} takes no detail; drop :{detail}")
    return name
