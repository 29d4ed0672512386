"""The verdict of a case."""

from __future__ import annotations

import signal
from collections.abc import Iterable

import msgspec

from faultinject.facts import Case, CaseResult, Grade, Observation, Problem, Recording
from faultinject.oracle._left import judge_left, judge_objects, judge_state, names_of
from faultinject.oracle._problems import main_problem
from faultinject.oracle._raised import judge_raised
from faultinject.oracle._releases import judge_order, judge_releases
from faultinject.oracle._second import second_notes, second_of, told, without_excused


def judge(seen: Observation, case: Case, recording: Recording, *, deadline: float = 5.0) -> CaseResult:
    """Judge one case.

    Args:
        seen: what was observed.
        case: the point, the fault, and the second fault if there is one: then the first exception must leave
            all the same, and everything but what the failing release alone held must be given back.
        recording: the unharmed runs, with the ownership table found or declared.
        deadline: seconds that the clean-up may take.

    Returns:
        The case with its verdict, its problems and whom each is charged to.
    """
    second = second_of(seen, case)
    if second is not None:
        seen = without_excused(seen, second, recording)
    target = seen.fault_stack[0] if seen.fault_stack else target_frame(recording, case)
    problems: list[Problem] = []
    if not seen.reached:
        problems.append(_not_reached(seen, target))
    else:
        problems += _process(seen, case, target, deadline)
        if seen.came_late:
            pass  # It did all right: its caller has what it returned, and the signal.
        elif seen.returned:
            problems += _handled(seen, case, target)
        elif seen.raised is not None:
            problems += judge_raised(seen, target)
        if seen.stage in ("left-target", "settled", "collected", "retrying", "done"):
            if not seen.returned:
                problems += judge_objects(seen, recording, target)
                problems += judge_releases(seen, recording, target)
                problems += judge_order(seen, recording, target)
            problems += judge_left(seen, recording, target)
            problems += judge_state(seen, target)
            problems += _retry(seen, target, problems)
        problems = [_hang_at_exit(p, problems) for p in problems]
        if second is not None:
            problems = told(problems, second)
    main = main_problem(problems)
    return CaseResult(
        id=case.id,
        point=case.point,
        phase=case.point.phase,
        fault=case.fault,
        verdict=main.verdict if main is not None else "clean",
        violation=main.violation if main is not None else False,
        charged_to=main.charged_to if main is not None else "",
        owned=_owned_at(seen, case, recording),
        released=_released(seen, recording),
        left=names_of(seen, recording),
        exception=_exception(seen),
        runner=seen.runner,
        seconds=round(seen.seconds, 6),
        problems=tuple(problems),
        grade=_worst(p.grade for p in problems),
        handled_by=seen.handled_by,
        notes=(*_notes(seen), *second_notes(seen, case)),
        times=case.times,
        second=case.second,
        second_reached=second is not None,
    )


def target_frame(recording: Recording, case: Case) -> str:
    """The target's own frame, where the observation does not say."""
    if recording.frame or case.point.level not in ("steps", "opcodes"):
        return recording.frame or recording.target
    return case.point.caller


def _not_reached(seen: Observation, target: str) -> Problem:
    if seen.timed_out:
        return Problem("hang", target, False, "the construction hung before it came to the fault point")
    if seen.exit_status not in (None, 0):
        return Problem(
            "crash", target, False, f"the process ended with {_status(seen)} before the fault point"
        )
    why = "the target returned" if seen.returned else "the target was left by another exception"
    if seen.raised is not None:
        why += f", {seen.raised.type}: {seen.raised.text[:100]}"
    return Problem("not-reached", "", False, f"the fault point was not reached: {why}")


def _process(seen: Observation, case: Case, target: str, deadline: float) -> list[Problem]:
    """What became of the process."""
    problems: list[Problem] = []
    if seen.timed_out:
        what = {
            "fault": "the clean-up did not end within the time limit of the case",
            "retrying": "a second construction did not end within the time limit of the case",
            "done": "at exit: the program can no longer end by itself",
        }.get(seen.stage, "a finalizer did not end within the time limit of the case")
        problems.append(Problem("hang", target, True, what, grade="exit" if seen.stage == "done" else None))
    elif seen.stage == "fault" and _is_the_signals_own_end(seen, case):
        what = f"ended by {case.fault} itself, for which this process has no handler: nothing to judge"
        problems.append(Problem("crash", target, False, what))
    elif seen.stage != "done" and seen.exit_status is not None:
        where = "a second construction" if seen.stage == "retrying" else "the clean-up"
        problems.append(Problem("crash", target, True, f"{where} ended the process with {_status(seen)}"))
    elif seen.exit_status not in (None, 0):
        problems.append(Problem("crash", target, True, f"at exit: the process ended with {_status(seen)}"))
    if seen.clean_up_seconds > deadline and not seen.timed_out:
        problems.append(
            Problem(
                "hang",
                target,
                True,
                f"the clean-up took {seen.clean_up_seconds:.1f} s, its deadline is {deadline:g} s",
            )
        )
    return problems


def _is_the_signals_own_end(seen: Observation, case: Case) -> bool:
    """Whether the injected signal did what the kernel does with one that nobody handles."""
    number = getattr(signal, case.fault, None) if case.fault.startswith("SIG") else None
    return number is not None and seen.exit_status == -int(number)


def _hang_at_exit(problem: Problem, problems: list[Problem]) -> Problem:
    """What keeps a program from ending is what was left in it: whoever answers for that answers for both."""
    if problem.verdict != "hang" or problem.grade != "exit":
        return problem
    leaks = sorted((p for p in problems if p.verdict == "leak"), key=lambda p: not p.violation)
    if not leaks:
        return problem
    return msgspec.structs.replace(problem, charged_to=leaks[0].charged_to, violation=leaks[0].violation)


_NOT_TO_BE_SWALLOWED = (
    "KeyboardInterrupt",
    "SystemExit",
    "GeneratorExit",
    "asyncio.CancelledError",
    "SIGINT",
)


def _handled(seen: Observation, case: Case, target: str) -> list[Problem]:
    """The fault was swallowed on the way and the target returned."""
    own = (target, *seen.fault_stack[: seen.own])
    by_target = seen.handled_by in own or not seen.handled_by
    frame = seen.handled_by if by_target and seen.handled_by else target
    if by_target and seen.missing_attributes:
        lacks = ", ".join(seen.missing_attributes[:5])
        return [
            Problem(
                "handled", frame, True, f"swallowed the fault and returned a half-built object: no {lacks}"
            )
        ]
    if by_target and seen.handled_by and case.fault in _NOT_TO_BE_SWALLOWED:
        return [Problem("handled", frame, True, f"swallowed {case.fault} and returned")]
    if seen.retry not in ("", "ok"):
        return [
            Problem(
                "handled",
                frame,
                True,
                f"swallowed the fault and returned an object that cannot be used: {seen.retry}",
            )
        ]
    return [
        Problem("handled", seen.handled_by, False, f"handled by {seen.handled_by or 'the signal handler'}")
    ]


def _retry(seen: Observation, target: str, problems: list[Problem]) -> list[Problem]:
    if seen.returned or any(
        p.verdict in ("leak", "wrong-release", "state", "hang", "crash") for p in problems
    ):
        return []
    if seen.retry not in ("", "ok"):
        return [
            Problem("state", target, True, f"a second construction in the same process fails: {seen.retry}")
        ]
    if seen.retry_differs:
        return [
            Problem(
                "state",
                target,
                True,
                f"a second construction holds something else: {'; '.join(seen.retry_differs)}",
            )
        ]
    return []


def _status(seen: Observation) -> str:
    status = seen.exit_status or 0
    return f"signal {-status}" if status < 0 else f"status {status}"


def _owned_at(seen: Observation, case: Case, recording: Recording) -> tuple[str, ...]:
    """Names of what the target owned when the fault came: what calls that had returned handed over."""
    # Between two of the target's calls (level opcodes) the last one has returned.
    returned = seen.step if case.point.level == "opcodes" else seen.step - 1
    return tuple(
        row.name
        for row in recording.owned
        if (row.name in seen.owned if row.name in recording.objects else 0 < row.step <= returned)
    )


def _released(seen: Observation, recording: Recording) -> tuple[str, ...]:
    names = [r.name for r in seen.releases[: seen.prompt_releases] if r.owned and not r.failed]
    steps = {step for _, step, _ in seen.order}
    names += [row.name for row in recording.owned if row.step in steps and row.name not in recording.objects]
    return tuple(dict.fromkeys(names))


def _exception(seen: Observation) -> str:
    if seen.raised is None:
        return ""
    return f"{seen.raised.type}: {seen.raised.text}"[:300]


def _worst(grades: Iterable[Grade | None]) -> Grade | None:
    order: tuple[Grade, ...] = ("before", "dropped", "collected", "exit", "never")
    known = [g for g in grades if g is not None]
    return max(known, key=order.index) if known else None


_BY_CALLER = "by the target's caller: the target had returned, and handed over what it made"


def _notes(seen: Observation) -> tuple[str, ...]:
    notes = [f"probe {name} failed: {why}" for name, why in seen.probe_errors]
    notes += [
        f"{label} vanished meanwhile, by no call of the target's" for _, label in seen.foreign_vanished[:5]
    ]
    if seen.came_late:
        where = f"in {seen.handled_outside}, outside of the target" if seen.handled_outside else _BY_CALLER
        notes.append(f"the signal was handled only {where}")
    if seen.hang_stack:
        notes.append("stack at the time limit:\\n" + seen.hang_stack[:4000])
    return tuple(notes)
