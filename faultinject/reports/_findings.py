"""From judged cases to findings: violations with one root are one finding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from faultinject.facts import CaseResult, Finding, Problem, Recording, Step, Summary, Verdict
from faultinject.matrix import fault_rank, label_of, label_order
from faultinject.points import PHASES, describe_fault, describe_point, point_key, short_name, split_second

_NOT_RELEASED: Final = frozenset({"leak", "late", "state"})
_INNOCENT: Final = frozenset({"clean", "unstable"})
_INNOCENT_UNLESS_CHARGED: Final = frozenset({"handled", "not-reached"})


class Root(NamedTuple):
    """What makes two problems one finding."""

    verdict: Verdict
    charged_to: str
    resources: frozenset[str]
    violation: bool


def summarise(
    results: Sequence[CaseResult],
    recording: Recording,
    *,
    seconds: float = 0.0,
    complete: bool = True,
    seconds_by_stage: Mapping[str, float] | None = None,
) -> Summary:
    """Count and cluster judged cases.

    Args:
        results: each case once.
        recording: the unharmed run they belong to.
        seconds: the whole sweep took.
        complete: false where it was interrupted.
        seconds_by_stage: such as ``{"record": 3.1, "screen": 41.0}``.
    """
    verdicts = Counter(r.verdict for r in results)
    return Summary(
        cases=len(results),
        violations=sum(r.violation for r in results),
        nested=sum(any(not root.violation for root in roots_of(r)) for r in results),
        verdicts={name: verdicts[name] for name in sorted(verdicts)},
        findings=findings(results, recording),
        unsteady=tuple(r.id for r in sorted(results, key=case_order) if r.verdict == "unstable"),
        confirmed=sum(r.confirmed for r in results),
        seconds=seconds,
        complete=complete,
        seconds_by_stage={} if seconds_by_stage is None else dict(seconds_by_stage),
    )


def findings(results: Iterable[CaseResult], recording: Recording | None = None) -> tuple[Finding, ...]:
    """The findings: those charged to the target first, each kind in the order of its smallest case.

    Problems of the same verdict, charged to the same frame, with the same set of resource names, are one.
    Its smallest case is the one a reader should replay first: confirmed before merely screened, then the
    earliest step, the plainest fault, phase ``before``.

    Args:
        results: judged cases.
        recording: gives the line of the target's own call where the point lies deeper.
    """
    ordered = sorted(results, key=case_order)
    groups: dict[Root, list[tuple[CaseResult, str]]] = {}
    for result in ordered:
        for root, what in roots_of(result).items():
            groups.setdefault(root, []).append((result, what))
    same_point: dict[str, list[CaseResult]] = {}
    for result in ordered:
        same_point.setdefault(point_key(result.point), []).append(result)
    target = _target_frame(recording)
    steps = {step.number: step for step in recording.steps} if recording else {}

    found: list[tuple[tuple[object, ...], Finding]] = []
    for root, members in groups.items():
        smallest, what = members[0]
        line = _line_in(root, smallest, target, steps)
        others = [
            r
            for r in same_point[point_key(smallest.point)]
            if r.id != smallest.id and r.second == smallest.second
        ]
        finding = Finding(
            verdict=root.verdict,
            charged_to=root.charged_to,
            violation=root.violation,
            resources=tuple(sorted(root.resources)),
            count=len(members),
            smallest=smallest.id,
            handler=_handler(root, smallest, line, others),
            place=f"{describe_point(smallest.point)}, {describe_fault(smallest.fault, smallest.second)}",
            what=what,
            steady=_steady(smallest),
        )
        found.append(((not root.violation, *case_order(smallest), root.verdict), finding))
    return tuple(finding for _, finding in sorted(found, key=lambda pair: pair[0]))


def case_order(result: CaseResult) -> tuple[object, ...]:
    """Sorts cases so that the one to look at first comes first."""
    return (
        not result.confirmed,
        # What goes wrong with one fault is looked at with one.
        result.second != "",
        result.point.step,
        fault_rank(result.fault),
        PHASES.index(result.phase),
        result.times != 1,
        result.point.line,
        (label_order(label_of(result.second)), result.second) if result.second else (),
        result.id,
    )


def roots_of(result: CaseResult) -> dict[Root, str]:
    """What a case contributes, problems of one verdict and one frame taken together."""
    problems = result.problems or (_only_problem(result),)
    merged: dict[tuple[Verdict, str, bool], tuple[set[str], list[str]]] = {}
    for problem in problems:
        if problem.verdict in _INNOCENT:
            continue
        if problem.verdict in _INNOCENT_UNLESS_CHARGED and not problem.violation:
            continue
        key = (problem.verdict, problem.charged_to, problem.violation)
        names, texts = merged.setdefault(key, (set(), []))
        names.update(problem.resources)
        if problem.what and problem.what not in texts:
            texts.append(problem.what)
    if result.verdict == "unstable":
        return {}
    return {
        Root(verdict, charged_to, frozenset(names), violation): "; ".join(texts)
        for (verdict, charged_to, violation), (names, texts) in merged.items()
    }


def _only_problem(result: CaseResult) -> Problem:
    return Problem(
        verdict=result.verdict,
        charged_to=result.charged_to,
        violation=result.violation,
        what="",
        resources=tuple(n for n in result.owned if n not in result.released) if result.violation else (),
    )


def _target_frame(recording: Recording | None) -> str:
    """The target's own frame: the caller of its steps."""
    if recording is None or recording.level not in ("steps", "opcodes") or not recording.points:
        return ""
    return recording.frame or recording.points[0].caller


def _line_in(root: Root, result: CaseResult, target: str, steps: Mapping[int, Step]) -> int:
    if result.point.caller == root.charged_to:
        return result.point.line
    step = steps.get(result.point.step)
    # A violation is by definition charged to the target, whose own call the step is: that of the frame it
    # names, where the target has several.
    if step is None or step.caller not in ("", root.charged_to):
        return 0
    return step.line if root.violation or root.charged_to == target else 0


def _handler(root: Root, result: CaseResult, line: int, others: Sequence[CaseResult]) -> str:
    """The handler, or the missing one, in words; nothing but facts of the cases goes into it."""
    frame = short_name(root.charged_to) or "the target"
    unnamed = "what it had changed" if root.verdict == "state" else "what it owned"
    what = _list(sorted(root.resources)) or unnamed
    around = f" around line {line}" if line else ""
    if result.point.level == "milestones":
        return _handler_in_tree(root, result, what)
    if result.second_reached:
        return _handler_of_second(root, result, f"{frame}{around}", what)
    if root.verdict in _NOT_RELEASED:
        verb = "restores" if root.verdict == "state" else "releases"
        spared = sorted({r.fault for r in others if _spared(r, root)}, key=fault_rank)
        if spared:
            return f"{frame}{around} {verb} {what} on {_list(spared)} but not on {result.fault}"
        late = " before the exception leaves" if root.verdict == "late" else ""
        return f"{frame} has no handler{around} that {verb} {what}{late}"
    if root.verdict == "masked":
        raised = result.exception.partition(":")[0].strip() or "another exception"
        return f"the handler in {frame}{around} raised {raised} instead of the injected {result.fault}"
    if root.verdict == "double-release":
        return f"{frame} releases {what} a second time"
    if root.verdict == "wrong-release":
        return f"{frame} releases {_list(sorted(root.resources)) or 'something'}, which it does not own"
    if root.verdict == "order":
        return f"{frame} releases {what} in the wrong order"
    if root.verdict == "traceback":
        return f"the handler in {frame}{around} passes the injected {result.fault} on altered"
    if root.verdict == "handled":
        return f"the handler in {frame}{around} swallows the injected {result.fault}"
    if root.verdict == "hang":
        return f"{frame} does not come back{around}"
    if root.verdict == "crash":
        return f"the process dies while {frame} handles the fault{around}"
    return f"{frame}{around}: {root.verdict}"


def _handler_in_tree(root: Root, result: CaseResult, what: str) -> str:
    when = f"{result.fault} at {result.point.caller}: {result.point.callee}"
    if root.verdict == "leak":
        lives = set(root.resources) == {root.charged_to}
        return f"{root.charged_to} lives on after {when}" if lives else f"{what} stay after {when}"
    if root.verdict == "masked":
        return f"what {root.charged_to} gets does not name the cause, {when}"
    if root.verdict == "hang":
        return f"{root.charged_to} does not end after {when}"
    if root.verdict == "crash":
        return f"{root.charged_to} crashes after {when}"
    return f"{root.charged_to or 'the target'}: {root.verdict} after {when}"


def _handler_of_second(root: Root, result: CaseResult, where: str, what: str) -> str:
    release, _, fault = split_second(result.second)
    failing = f"the release {release} hangs" if fault == "hang" else f"the release {release} raises {fault}"
    if root.verdict in _NOT_RELEASED:
        verb = "restore" if root.verdict == "state" else "release"
        return f"the clean-up in {where} does not go on to {verb} {what} where {failing}"
    if root.verdict == "masked":
        return f"the clean-up in {where} lets another exception replace the first where {failing}"
    if root.verdict == "double-release":
        return f"{where} releases {what} a second time where {failing}"
    if root.verdict == "hang":
        return f"the clean-up in {where} has no deadline where {failing}"
    return f"{where}: {root.verdict} where {failing}"


def _spared(result: CaseResult, root: Root) -> bool:
    """Whether the same point, with another fault, was judged to have nothing of this kind wrong."""
    if result.verdict != "clean" and not result.problems:
        return False
    if result.verdict in ("not-reached", "unstable", "handled", "hang", "crash"):
        return False
    return all(
        problem.charged_to != root.charged_to
        or (root.resources and not set(problem.resources) & root.resources)
        for problem in result.problems
    )


def _steady(result: CaseResult) -> str:
    if not result.runs:
        return ""
    return f"{sum(run == result.verdict for run in result.runs)} of {len(result.runs)}"


def _list(names: Sequence[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
