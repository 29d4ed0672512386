"""How several problems of one case become its one verdict."""

from __future__ import annotations

from collections.abc import Sequence

from faultinject.facts import Problem, Verdict

SEVERITY: tuple[Verdict, ...] = (
    "crash",
    "hang",
    "leak",
    "wrong-release",
    "double-release",
    "masked",
    "traceback",
    "order",
    "late",
    "state",
    "handled",
    "not-reached",
    "unstable",
    "clean",
)
"""The verdict of a case is that of its gravest problem; the rest stay listed."""


def main_problem(problems: Sequence[Problem]) -> Problem | None:
    """The problem that names the case: those charged to the target before those of layers beneath it."""
    if not problems:
        return None
    return min(problems, key=lambda p: (not p.violation, _rank(p)))


def _rank(problem: Problem) -> float:
    # A program that cannot end says less than the thread or process that keeps it from ending.
    if problem.verdict == "hang" and problem.grade == "exit":
        return SEVERITY.index("state") + 0.5
    return SEVERITY.index(problem.verdict)
