"""Verdicts by step and by (phase, fault): what both the file and the screen show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from faultinject.facts import CaseResult, Phase
from faultinject.points import PHASES

PLAIN: Final = frozenset({"clean", "handled", "not-reached", "unstable"})
"""Verdicts that accuse nobody."""
NOTHING_KNOWN: Final = frozenset({"not-reached", "unstable"})
"""Verdicts by which a case says nothing of the target."""
NESTED: Final = "nested "
"""In front of a verdict that is charged to a frame beneath the target."""
BASE_EXCEPTIONS: Final = frozenset(
    {"KeyboardInterrupt", "SystemExit", "GeneratorExit", "CancelledError", "BaseException"}
)


def fault_rank(fault: str) -> tuple[int, str]:
    """How plain a fault is: RuntimeError, then other errors, then BaseExceptions, then signals and deaths."""
    name = fault.partition(":")[0].rpartition(".")[2]
    if name == "RuntimeError":
        return 0, fault
    if name in BASE_EXCEPTIONS:
        return 2, fault
    if name.isupper():
        return 3, fault
    return 1, fault


class Column(NamedTuple):
    """One way to fail, applied at every step."""

    phase: Phase
    fault: str
    times: int = 1

    @property
    def label(self) -> str:
        """Such as ``before RuntimeError``, ``after OSError:ENOSPC x3``, ``before SIGINT persistent``."""
        often = "" if self.times == 1 else " persistent" if self.times == 0 else f" x{self.times}"
        return f"{self.phase} {self.fault}{often}"

    @property
    def order(self) -> tuple[int, tuple[int, str], int]:
        """Sorts columns: phase, then the plainest fault, then once before more often."""
        return PHASES.index(self.phase), fault_rank(self.fault), self.times if self.times else 1 << 30


def word_of(result: CaseResult) -> str:
    """The verdict of a case as a cell shows it, with ``nested`` in front where the target is not to blame."""
    nested = not result.violation and result.verdict not in PLAIN
    return f"{NESTED}{result.verdict}" if nested else result.verdict


def columns_of(results: Iterable[CaseResult]) -> tuple[Column, ...]:
    """Every column the results fill, in their stable order; pairs of faults have a table of their own."""
    found = {Column(r.phase, r.fault, r.times) for r in results if not r.second}
    return tuple(sorted(found, key=lambda column: column.order))


def tabulate(results: Iterable[CaseResult]) -> Mapping[int, Mapping[Column, Counter[str]]]:
    """By step number and column, how often each word came; a step or column without a case is absent."""
    table: dict[int, dict[Column, Counter[str]]] = {}
    for r in results:
        if r.second:
            continue
        cell = table.setdefault(r.point.step, {}).setdefault(Column(r.phase, r.fault, r.times), Counter())
        cell[word_of(r)] += 1
    return table
