"""A sweep as the reports for other programs see it, and what a gate says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from faultinject._plain import plain
from faultinject.facts import CaseResult, Finding, Recording, Summary
from faultinject.points import replay_command
from faultinject.reports._findings import findings
from faultinject.reports._protocol import Environment

Kind = Literal["new", "fixed", "expired", "changed", "broken"]
"""Why a gate fails: a violation that its baseline does not have; one that is fixed and still listed; one
whose time is over; fault points or ownership that are not those of the baseline; a sweep that could not be
made."""

KINDS: Final[dict[Kind, str]] = {
    "new": "new violation",
    "fixed": "fixed, still listed",
    "expired": "expired",
    "changed": "changed",
    "broken": "not swept",
}
"""The same in words."""


class Change(msgspec.Struct, frozen=True):
    """One thing for which a gate fails.

    Attributes:
        title: a few words.
        text: what, and what to do.
        file, line: where it is to be seen; ``""`` and 0 where nowhere.
    """

    kind: Kind
    title: str
    text: str
    file: str = ""
    line: int = 0


class Ruling(msgspec.Struct, frozen=True):
    """What a gate says of a sweep.

    Attributes:
        status: 0, 1, 2 or 3, as a gate of this sweep alone exits.
        baseline: path of the file it compared with.
        excused: by id of a case, why its violation does not count.
        changes: what it fails for.
        notes: what a reader should know beside: what could not be judged, how the baseline was made.
        found: cases there are.
        ran: how many of them ran.
    """

    status: int
    baseline: str
    excused: dict[str, str] = {}
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    found: int = 0
    ran: int = 0


class Suite(msgspec.Struct, frozen=True):
    """A finished sweep, with the ruling of a gate where there was one."""

    recording: Recording
    environment: Environment
    results: tuple[CaseResult, ...]
    summary: Summary
    ruling: Ruling | None = None

    @property
    def broken(self) -> tuple[Change, ...]:
        """Why the sweep could not be made; nothing where it was."""
        return tuple(c for c in self.other_changes() if c.kind == "broken")

    @property
    def name(self) -> str:
        return f"{self.recording.target} at level {self.recording.level}"

    @property
    def reasons(self) -> Mapping[str, str]:
        """By id of a case, why the baseline excuses its violation."""
        return self.ruling.excused if self.ruling is not None else {}

    def replay(self, identifier: str) -> str:
        """The command that runs one of the cases again, whatever was swept last."""
        return plain(replay_command(identifier, self.environment.replay))

    def failing(self) -> tuple[CaseResult, ...]:
        """Cases with a violation that nothing excuses."""
        return tuple(r for r in self.results if r.violation and r.id not in self.reasons)

    def excused(self) -> tuple[CaseResult, ...]:
        """Cases with a violation that the baseline excuses."""
        return tuple(r for r in self.results if r.violation and r.id in self.reasons)

    def findings_of(self, results: Sequence[CaseResult]) -> tuple[Finding, ...]:
        """What is charged to the target in some of the cases."""
        return tuple(f for f in findings(results, self.recording) if f.violation)

    def other_changes(self) -> tuple[Change, ...]:
        """What a gate fails for beside the failing cases."""
        return tuple(c for c in self.ruling.changes if c.kind != "new") if self.ruling is not None else ()
