"""Verdicts of the pairs of faults: by step, by the release that fails as well, and by how it fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from faultinject.facts import CaseResult
from faultinject.matrix._cells import fault_rank, word_of
from faultinject.points import split_second

HANG = "hang"


@dataclass
class SecondCell:
    """What came of the second faults at one release, for faults at one step, or at several.

    Attributes:
        words: by ``before RuntimeError`` (in place of the release), ``after ...`` or ``hang``, how often each
            verdict came.
        not_called: cases in which the release was not called, so that the second fault never came.
    """

    words: dict[str, Counter[str]] = field(default_factory=dict)
    not_called: int = 0

    def add(self, result: CaseResult) -> None:
        if result.second_reached:
            self.words.setdefault(label_of(result.second), Counter())[word_of(result)] += 1
        else:
            self.not_called += 1


def label_of(second: str) -> str:
    """How a release fails, in short: ``before RuntimeError``, ``after KeyboardInterrupt``, ``hang``."""
    _, phase, fault = split_second(second)
    return fault if fault == HANG else f"{phase} {fault}"


def label_order(label: str) -> tuple[bool, bool, tuple[int, str]]:
    """Sorts labels: before, after, then the hang; the plainest fault first."""
    phase, _, fault = label.partition(" ")
    return label == HANG, phase == "after", fault_rank(fault)


def tabulate_second(results: Iterable[CaseResult]) -> dict[tuple[int, str], SecondCell]:
    """By step number and release (``NAME.METHOD``), what came of second faults; without cases, nothing."""
    table: dict[tuple[int, str], SecondCell] = {}
    for result in results:
        if result.second:
            place = (result.point.step, split_second(result.second)[0])
            table.setdefault(place, SecondCell()).add(result)
    return dict(sorted(table.items()))


def by_release(results: Iterable[CaseResult]) -> dict[str, SecondCell]:
    """The same for all steps taken together."""
    table: dict[str, SecondCell] = {}
    for result in results:
        if result.second:
            table.setdefault(split_second(result.second)[0], SecondCell()).add(result)
    return dict(sorted(table.items()))
