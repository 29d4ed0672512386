"""What a second fault, in one release of the clean-up, excuses, and what it does not."""

from __future__ import annotations

import msgspec

from faultinject.facts import Case, Observation, Owned, Problem, Recording
from faultinject.faults import SecondFault, parse_second

_UNFINISHED = frozenset({"leak", "late", "state"})


def second_of(seen: Observation, case: Case) -> SecondFault | None:
    """The second fault of a case, if it came."""
    return parse_second(case.second) if case.second and seen.second_reached else None


def without_excused(seen: Observation, second: SecondFault, recording: Recording) -> Observation:
    """What was seen, without what only that release could have given back.

    A release that failed before it did anything, or that hangs, excuses what came to life in the step of that
    owned resource alone, and the thread in which it hangs. One that has done its work excuses nothing.
    """
    if not second.gives_nothing_back:
        return seen
    row = row_of(second, recording)
    steps = {row.step, row.made_in} - {0} if row is not None else set()
    thread = f"{seen.second_thread}:"
    return msgspec.structs.replace(
        seen,
        left=tuple(
            one
            for one in seen.left
            if (one.step not in steps or one.nested)
            and not (seen.second_thread and one.probe == "threads" and one.key.startswith(thread))
        ),
        state=tuple(change for change in seen.state if change.step not in steps or change.nested),
        # What it left can be in the way of a second construction.
        retry="",
        retry_differs=(),
    )


def row_of(second: SecondFault, recording: Recording) -> Owned | None:
    """The row of the ownership table whose release fails."""
    return next((row for row in recording.owned if f"{row.name}.{row.release}" == second.release), None)


def told(problems: list[Problem], second: SecondFault) -> list[Problem]:
    """The problems, those of the clean-up with what had gone wrong before them."""
    how = "hung" if second.hangs else "failed"
    after = f"after the release of {second.release.rpartition('.')[0]} {how}"
    return [
        msgspec.structs.replace(problem, what=f"{problem.what}, {after}")
        if problem.verdict in _UNFINISHED or problem.verdict in ("hang", "double-release", "order")
        else problem
        for problem in problems
    ]


def second_notes(seen: Observation, case: Case) -> list[str]:
    """What a reader must know of a second fault that did not come."""
    if not case.second or seen.second_reached or not seen.reached or seen.timed_out:
        return []
    release = parse_second(case.second).release
    return [f"the second fault was not reached: {release}() was not called; judged as with the first alone"]
