"""Hand-made facts: an engine of five steps that owns three things and releases none."""

from __future__ import annotations

from typing import Any

from faultinject.facts import (
    Acquisition,
    CaseResult,
    Grade,
    Item,
    Owned,
    Phase,
    Point,
    Problem,
    Recording,
    Step,
    Verdict,
)
from faultinject.points import case_id, make_cases
from faultinject.reports import Environment

TARGET = "acme:Engine"
INIT = "acme.engine:Engine.__init__"
CALLEES = (
    "acme.plugins:load_plugins",
    "acme.executor:Executor.__init__",
    "acme.engine:Engine._profile",
    "acme.scheduler:Scheduler.__init__",
    "acme.gc:freeze_heap",
)
LINES = (11, 14, 17, 23, 31)

ENVIRONMENT = Environment(
    python="3.12.1",
    platform="linux 6.1 x86_64",
    faultinject="0.1.0",
    target_version="2.4.0",
    backend="monitoring",
    runner="zygote",
    jobs=2,
    faults=("RuntimeError", "KeyboardInterrupt"),
    probes=("fds", "gc", "processes"),
    absent_probes={"device memory": "no GPU"},
    command=("faultinject", "sweep", "acme:Engine"),
    replay=("--target", "acme:Engine", "--release", "shutdown"),
)


def point(step: int, phase: Phase = "before", **changes: Any) -> Point:
    fields: dict[str, Any] = {
        "level": "steps",
        "phase": phase,
        "caller": INIT,
        "callee": CALLEES[step - 1],
        "occurrence": 1,
        "file": "acme/engine.py",
        "line": LINES[step - 1],
        "step": step,
    }
    return Point(**(fields | changes))


POINTS = tuple(point(step, phase) for step in range(1, 6) for phase in ("before", "after"))

OWNED = (
    Owned(
        name="executor",
        step=2,
        callee=CALLEES[1],
        release="shutdown",
        holder="self.executor",
        amounts=("+2 processes", "+480 MiB shared memory", "+52 fds"),
        order=1,
        line=14,
    ),
    Owned(
        name="scheduler",
        step=4,
        callee=CALLEES[3],
        release="close",
        holder="self.scheduler",
        order=2,
        line=23,
    ),
)


def acquisition(probe: str, key: str, label: str = "", **item: Any) -> Acquisition:
    return Acquisition(probe, key, Item(label or key, **item), 1)


RECORDING = Recording(
    target=TARGET,
    level="steps",
    points=POINTS,
    steps=tuple(
        Step(
            number=number,
            callee=CALLEES[number - 1],
            line=LINES[number - 1],
            acquired=(acquisition("fds", "7"), acquisition("fds", "8")) if number == 3 else (),
        )
        for number in range(1, 6)
    ),
    owned=OWNED,
    release="shutdown",
    seconds=1.84,
    runs=2,
    notes=("probe device memory: no GPU",),
)


def problem(
    verdict: Verdict = "leak",
    resources: tuple[str, ...] = ("executor",),
    *,
    charged_to: str = INIT,
    violation: bool = True,
    what: str = "",
    grade: Grade | None = "never",
) -> Problem:
    return Problem(verdict, charged_to, violation, what, resources, grade)


def result(
    at: Point,
    *problems: Problem,
    fault: str = "RuntimeError",
    verdict: Verdict | None = None,
    **changes: Any,
) -> CaseResult:
    worst = problems[0] if problems else None
    fields: dict[str, Any] = {
        "id": case_id(TARGET, at, fault),
        "point": at,
        "phase": at.phase,
        "fault": fault,
        "verdict": verdict or (worst.verdict if worst else "clean"),
        "violation": any(p.violation for p in problems),
        "charged_to": worst.charged_to if worst else "",
        "owned": (),
        "released": (),
        "left": (),
        "exception": f"{fault}: injected",
        "runner": "zygote",
        "seconds": 0.25,
        "problems": problems,
        "grade": worst.grade if worst else None,
        "confirmed": True,
        "runs": ("leak", "leak", "leak") if worst and worst.verdict == "leak" else (),
    }
    return CaseResult(**(fields | changes))


def sweep() -> list[CaseResult]:
    """Every case of the sample: clean until the executor is owned, then a leak of all that is."""
    results = []
    for case in make_cases(TARGET, POINTS, ("RuntimeError", "KeyboardInterrupt")):
        owned = tuple(o.name for o in OWNED if o.step < case.point.step)
        problems = (problem(resources=owned),) if owned else ()
        left = ("executor", "+2 processes", "+480 MiB shared memory") if owned else ()
        results.append(result(case.point, *problems, fault=case.fault, owned=owned, left=left))
    return results


NESTED = problem(
    resources=("socket",), charged_to="acme.executor:Executor._connect", violation=False, grade="dropped"
)
