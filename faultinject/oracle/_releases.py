"""Whether exactly what was owned was released: once, newest first, and nothing else."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from faultinject.facts import Observation, Problem, Recording


def judge_releases(seen: Observation, recording: Recording, target: str) -> list[Problem]:
    """Double releases, and releases of what was never the target's."""
    prompt = seen.releases[: seen.prompt_releases]
    problems: list[Problem] = []
    usual = {name: number for name, number in recording.release_counts}
    for (name, method), number in Counter((r.name, r.method) for r in prompt if r.owned).items():
        if number > max(1, usual.get(f"{name}.{method}", 1)):
            problems.append(
                Problem("double-release", target, True, f"{name}.{method}() called {number} times", (name,))
            )
    for call in prompt:
        if not call.owned:
            nested = call.by in seen.fault_stack[seen.own :]
            what = f"{call.name}.{call.method}() called on an object that was not its own to release"
            frame = call.by if call.by in seen.fault_stack else target
            problems.append(Problem("wrong-release", frame, not nested, what, (call.name,)))
    for _, label, by in seen.foreign_removed:
        nested = by in seen.fault_stack[seen.own :]
        what = f"removed {label}, which was there before the target"
        frame = by if by in seen.fault_stack else target
        problems.append(Problem("wrong-release", frame, not nested, what, (label,)))
    return problems


def judge_order(seen: Observation, recording: Recording, target: str) -> list[Problem]:
    """Newest first, unless the target's own normal release has another order."""
    ranks = {row.step: row.order for row in recording.owned}
    # What came at a step that acquires nothing by itself was made meanwhile by a process or a thread that the
    # target had started before: its moment says nothing.
    released = [one for one in seen.order if one[1] in ranks]
    steps = [step for _, step, _ in released]
    sequences = [sequence for _, _, sequence in released]
    if len(steps) < 2:
        return []
    # What the normal release does not give back has no place in its order.
    ranked = [(ranks[step], sequence) for step, sequence in zip(steps, sequences, strict=True) if ranks[step]]
    newest_first = _ascends([(-step, sequence) for step, sequence in zip(steps, sequences, strict=True)])
    usual = len(ranked) > 1 and _ascends(ranked)
    if newest_first or usual:
        return []
    names = {row.step: row.name for row in recording.owned}
    said = " then ".join(names[step] for step in steps)
    return [
        Problem(
            "order",
            target,
            True,
            f"released {said}: neither newest first nor in the order of its normal release",
            tuple(names[step] for step in steps),
        )
    ]


def _ascends(released: list[tuple[int, int]]) -> bool:
    """Whether, of (place, sequence), the places ascend with the sequences; one sequence has no order."""
    return all(first[1] == second[1] or first[0] <= second[0] for first, second in pairwise(released))
