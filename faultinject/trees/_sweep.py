"""The sweep of a tree of processes: record the milestones, run each case, repeat what accuses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from faultinject.errors import TargetError, UsageError
from faultinject.facts import Case, CaseResult, Point, Recording, Step, Summary
from faultinject.oracle._tree import FILES, SHARED, group_of, judge_tree
from faultinject.points import make_cases
from faultinject.reports import describe_environment
from faultinject.runners import Expectation, RunCase
from faultinject.sweep import Options, Sweep
from faultinject.trees._declared import CALLER, EXIT, READY, UP, role_order
from faultinject.trees._fault import TreeFault, parse_tree_fault
from faultinject.trees._messages import Run, TreeObservation
from faultinject.trees._pool import TreePool

_RECORD_LIMIT = 120.0
_SOON = 2.0
"""Seconds after which a process that comes later than another's milestone is taken to wait for it."""


def discover_tree(options: Options, pool: TreePool) -> tuple[Recording, TreeObservation]:
    """Run the target unharmed, once.

    Returns:
        The recording, with a point for each milestone, and all that was seen.

    Raises:
        TargetError: it fails or does not end without any fault.
    """
    name = options.target.name
    found: list[TreeObservation] = []
    limit = options.time_limit or _RECORD_LIMIT
    pool.run([Run(limit=limit, deadline=limit)], found.append)
    seen = found[0]
    if seen.raised:
        text = f"target {name} fails without any fault: {seen.raised[0][0]}: {seen.raised[0][1][:300]}"
        raise TargetError(text + "; make it construct first, then sweep it", original=seen.output)
    if seen.release_error:
        raise TargetError(
            f"target {name}: its release fails without any fault: {seen.release_error[:300]}",
            original=seen.output,
        )
    if seen.timed_out or not seen.returned:
        how = "does not end" if seen.timed_out else f"ended with status {seen.caller_status}"
        raise TargetError(
            f"target {name} {how} without any fault; make it construct and end first, then sweep it",
            original=seen.output,
        )
    points = _points(seen)
    steps = tuple(Step(p.step, p.callee, 0, caller=p.caller) for p in points)
    missing = [f"there is no {name}, so no milestone" for name in seen.missing]
    left = [(SHARED, group_of(SHARED, name)) for name, _, _ in seen.shared]
    left += [(FILES, group_of(FILES, name)) for name in seen.files]
    unreleased = tuple((probe, group, left.count((probe, group))) for probe, group in sorted(set(left)))
    notes = [*missing, *(f"an unharmed run leaves {count} {group} ({p})" for p, group, count in unreleased)]
    recording = Recording(
        name,
        "milestones",
        points,
        steps,
        (),
        unreleased=unreleased,
        seconds=seen.seconds,
        notes=tuple(notes),
        frame=name,
    )
    return recording, seen


def _points(seen: TreeObservation) -> tuple[Point, ...]:
    reached: dict[tuple[str, str], float] = {}
    for one in seen.milestones:
        if one.role and (one.role, one.name) not in reached:
            reached[one.role, one.name] = one.at
    ordered = sorted(reached, key=lambda key: (role_order(key[0]), reached[key]))
    return tuple(
        Point("milestones", "after", role, name, 1, kind="milestone", step=number)
        for number, (role, name) in enumerate(ordered, 1)
    )


def cases_of_tree(
    options: Options, recording: Recording, points: Sequence[Point], seen: TreeObservation
) -> tuple[Case, ...]:
    """Every milestone with every fault that can be done there.

    A signal is for a process that was there when the recording came to the milestone; an exception and a
    system fault for the one that came to it.

    Raises:
        UsageError: a fault names a role that no process has, or one that is never there.
    """
    roles = {p.role for p in seen.processes if p.role and not p.helper}
    faults = [parse_tree_fault(text) for text in options.faults]
    for fault in faults:
        named = [fault.role] if fault.role else []
        if "/" in fault.continues:
            named.append(fault.continues.partition("/")[0])
        for role in named:
            if role not in roles:
                there = ", ".join(sorted(roles, key=role_order))
                raise UsageError(f"fault {fault.text!r}: no process has the role {role!r}; there are {there}")
    every = make_cases(options.target.name, points, [fault.text for fault in faults])
    by_text = {fault.text: fault for fault in faults}
    found = tuple(case for case in every if _possible(case.point, by_text[case.fault], seen))
    used = {case.fault for case in found}
    for fault in faults:
        if fault.text not in used:
            own = " (it comes out of a function: the target needs milestones of its own)"
            raise UsageError(
                f"fault {fault.text!r} is possible at none of the milestones that were chosen"
                + (own if fault.kind == "exception" else "")
            )
    return found


def _possible(point: Point, fault: TreeFault, seen: TreeObservation) -> bool:
    if fault.kind == "signal":
        if fault.role in ("", point.caller):
            return fault.text != "SIGSTOP" or point.caller != CALLER
        return _comes_by_itself(point, fault.role, seen)
    if fault.role and fault.role != point.caller:
        return False
    # An exception comes out of a function of the target's.
    return fault.kind != "exception" or point.callee not in (UP, READY, EXIT)


def _comes_by_itself(point: Point, role: str, seen: TreeObservation) -> bool:
    """Whether a process is there, or on its way, while another waits at a milestone.

    What the waiting one has started is there already, or never comes. Anything else does not depend on it, if
    it was there soon after in the recording: two workers come to their milestones in any order.
    """
    at = next(m for m in seen.milestones if (m.role, m.name) == (point.caller, point.callee))
    by_role = {p.role: p for p in seen.processes if p.role}
    victim = one = by_role[role]
    for _ in seen.processes:
        if one.parent == point.caller:
            return one.pid in at.alive and (victim.ended is None or victim.ended >= at.at)
        if one.parent not in by_role:
            break
        one = by_role[one.parent]
    return victim.started <= at.at + _SOON and (victim.ended is None or victim.ended >= at.at)


class TreeSweep(Sweep):
    """Sweeps one target at level ``milestones``; arguments, reports and results are those of `Sweep`."""

    def run(self) -> Summary:
        options = self.options
        complete = False
        try:
            with self._pool() as pool:
                self._stage("import")
                self.version = pool.ready.version
                self.ignore = (*options.ignore, *pool.ready.ignore)
                orders = {order.case.id: order for order in self._prepared(pool)}
                self._stage("record")
                like_a_pool = cast(Any, _LikePool(pool, options, self.limit))
                for batch in self._batches([order.case for order in orders.values()]):
                    like_a_pool.run([orders[case.id] for case in batch], self._judged)
                    self._stage("run")
                    self._repeat(like_a_pool, list(self.cases.values()))
                    self._stage("repeat")
            complete = True
        finally:
            summary = self._finish(complete)
        return summary

    def _pool(self) -> TreePool:
        return tree_pool_of(self.options)

    def _prepared(self, pool: TreePool) -> list[RunCase]:
        options = self.options
        recording, seen = discover_tree(options, pool)
        points = options.filter.apply(recording.points)
        cases = cases_of_tree(options, recording, points, seen)
        self.limit = limit_of(options, recording)
        recording = self.recording = msgspec.structs.replace(recording, points=tuple(points))
        environment = describe_environment(
            target_version=pool.ready.version,
            runner="spawn" if options.runner == "spawn" else "zygote",
            jobs=pool.jobs,
            faults=options.faults,
            command=self.command,
            replay=options.replay_words(),
        )
        if self.before_start is not None:
            self.before_start(recording, environment)
        self.reporter.start(recording, environment, len(cases))
        self.begun = True
        self.settings = options.settings(recording.seconds)
        self.expectation = Expectation()
        self.cases = {case.id: case for case in cases}
        return [self._order(case, retry=False) for case in cases if case.id not in self.skip]

    def _judge(self, seen: Any) -> CaseResult:
        assert self.recording is not None
        return judge_tree(
            seen,
            self.cases[seen.case],
            self.recording,
            deadline=self.options.deadline,
            ignore=self.ignore,
        )


class _LikePool:
    """Runs what `Sweep` orders of a `Pool`, as trees."""

    def __init__(self, pool: TreePool, options: Options, limit: float) -> None:
        self.pool = pool
        self.options = options
        self.limit = limit

    def run(self, orders: Sequence[RunCase], on_observation: Callable[[Any], None]) -> None:
        self.pool.run([order_of(o.case, self.options, self.limit) for o in orders], on_observation)


def order_of(case: Case, options: Options, limit: float) -> Run:
    """What a conductor is told of a case."""
    return Run(case.id, case.point.caller, case.point.callee, case.fault, options.deadline, limit)


def limit_of(options: Options, recording: Recording) -> float:
    """Seconds that the whole of a case may take."""
    return options.time_limit or 3 * recording.seconds + 2 * options.deadline + 10.0


def tree_pool_of(options: Options) -> TreePool:
    """The conductors that `options` ask for; one unless told otherwise, as a tree uses several cores itself.

    Raises:
        UsageError: a runner that cannot be.
    """
    if options.runner == "fork":
        raise UsageError(
            "level milestones has processes of its own in each case: take --runner zygote or spawn"
        )
    return TreePool(options.target, options.jobs or 1, fresh=options.runner == "spawn")


def replay_tree(
    options: Options, find: Callable[[Sequence[Case]], Case]
) -> tuple[TreeObservation, CaseResult, Recording]:
    """Run one case.

    Args:
        find: picks the case among those of the recording.
    """
    with tree_pool_of(options) as pool:
        recording, unharmed = discover_tree(options, pool)
        case = find(cases_of_tree(options, recording, recording.points, unharmed))
        seen: list[TreeObservation] = []
        pool.run([order_of(case, options, limit_of(options, recording))], seen.append)
        result = judge_tree(
            seen[0],
            case,
            recording,
            deadline=options.deadline,
            ignore=(*options.ignore, *pool.ready.ignore),
        )
        return seen[0], result, recording
