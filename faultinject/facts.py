"""The plain values that pass between the stages of a sweep.

Every arrow of the flow (record, generate, run, observe, judge, report) carries one of these frozen
records and nothing else, so a stage can be tested, stored and replayed alone. They hold text and
numbers only: a record never keeps an object of the target alive.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Level = Literal["steps", "sites", "stacks", "opcodes", "nth", "milestones"]
Phase = Literal["before", "after"]
Verdict = Literal[
    "clean",
    "leak",
    "double-release",
    "wrong-release",
    "order",
    "late",
    "state",
    "masked",
    "traceback",
    "handled",
    "not-reached",
    "unstable",
    "hang",
    "crash",
]
Grade = Literal["before", "dropped", "collected", "exit", "never"]
"""When a resource was given back: before the exception left the target, when the last reference
went, after a collection, at interpreter exit, never."""


class Item(msgspec.Struct, frozen=True):
    """One thing a probe saw.

    Attributes:
        label: what a reader sees, such as ``"fd 7 -> socket:[123]"`` or ``"gc.enabled"``.
        amount: how much of `unit` it stands for (a shared-memory block: its size in bytes).
        unit: ``""`` for a plain count, otherwise ``"bytes"``.
        value: for state, the comparable value as text; empty for resources.
        group: what makes two items of different runs "the same kind of thing" (a path with its
            random part removed, a thread's name without its number).
    """

    label: str
    amount: int = 1
    unit: str = ""
    value: str = ""
    group: str = ""


class Point(msgspec.Struct, frozen=True):
    """The identity of a fault point.

    `caller`, `callee`, `occurrence` (and `stack` at level ``stacks``) identify it; `file` and `line`
    are for the reader and are never compared, so an edit above the call does not move it.

    Attributes:
        caller: ``module:qualname`` of the code that makes the call.
        callee: ``module:qualname`` of what is called; for ``opcodes`` the instruction's name.
        occurrence: 1 for the first call (``steps``, ``nth``) or first call site (``sites``,
            ``stacks``) of this caller and callee, and so on.
        stack: callers below the target, outermost first (``stacks`` only).
        kind: how the callee is implemented: ``python``, ``c``, or ``opcode``.
    """

    level: Level
    phase: Phase
    caller: str
    callee: str
    occurrence: int
    stack: tuple[str, ...] = ()
    kind: str = "python"
    file: str = ""
    line: int = 0
    step: int = 0
    """Number of the target's own call within which the point lies, 1 for the first."""


class Acquisition(msgspec.Struct, frozen=True):
    """A resource that came to life while the target ran.

    Attributes:
        probe: the probe that saw it, or ``"object"`` for an object with a release method.
        key: the probe's key of it, unique within that probe at one time.
        step: the target's own call during which it came, 1 for the first; 0 is outside any call.
        received_by: ``module:qualname`` of every frame that was on the stack and had received it,
            outermost (the target) first.
        release: the method or function that gives it back, if known.
        holder: where the finished target keeps it (``self.model_executor``), if known.
    """

    probe: str
    key: str
    item: Item
    step: int
    received_by: tuple[str, ...] = ()
    release: str = ""
    holder: str = ""


class Step(msgspec.Struct, frozen=True):
    """One call that the target itself makes, with what it brought to life or ended.

    A call within which others are numbered (that of another own frame) has two: one as it begins, and one
    as it ends.
    """

    number: int
    callee: str
    line: int
    file: str = ""
    acquired: tuple[Acquisition, ...] = ()
    released: tuple[tuple[str, str], ...] = ()
    """(probe, key) of what ended during the call."""
    caller: str = ""
    """The own frame that makes it, where the target names frames of its own."""


class Owned(msgspec.Struct, frozen=True):
    """One line of the ownership table: a resource the target owns from `step` on.

    Attributes:
        name: the word for it: ``executor``, ``fds``, ``gc freeze``.
        step: number of the target's own call that hands it over.
        callee: that call.
        release: what gives it back (``shutdown``, ``gc.unfreeze``), or ``""``.
        holder: where the finished target keeps it.
        amounts: probe by probe, such as ``"+52 fds"``.
        order: its place in the target's own normal shutdown, 1 first; 0 where unknown.
        source: ``found`` or ``declared``.
        made_in: step that made the object which is given back by calling its method `release`; 0 where
            `release` is a function, and no object stands for the resource.
    """

    name: str
    step: int
    callee: str
    release: str = ""
    holder: str = ""
    amounts: tuple[str, ...] = ()
    order: int = 0
    source: str = "found"
    line: int = 0
    made_in: int = 0


class Recording(msgspec.Struct, frozen=True):
    """What one or more unharmed runs of the target showed."""

    target: str
    level: Level
    points: tuple[Point, ...]
    steps: tuple[Step, ...]
    owned: tuple[Owned, ...]
    residue: tuple[tuple[str, str, int], ...] = ()
    """(probe, group, count) that even the normal release leaves once per process, and only once."""
    unreleased: tuple[tuple[str, str, int], ...] = ()
    """(probe, group, count) that every normal release leaves again."""
    holds: tuple[tuple[str, int], ...] = ()
    """(probe, count) alive when the target had returned."""
    attributes: tuple[str, ...] = ()
    """Names the finished object carries; a half-built one lacks some."""
    release: str = ""
    seconds: float = 0.0
    runs: int = 1
    unstable: tuple[str, ...] = ()
    """What differed between runs, where no two agreed."""
    capped: int = 0
    """Dynamic calls beyond the cap of a level, not offered as points."""
    notes: tuple[str, ...] = ()
    frame: str = ""
    """``module:qualname`` of the target's own frame."""
    objects: dict[str, str] = {}
    """Name of each owned object that is judged by its release being called -> the step that hands it over
    (``callee#occurrence``)."""
    release_counts: tuple[tuple[str, int], ...] = ()
    """(``name.method``, number) of calls in the normal release."""


class Case(msgspec.Struct, frozen=True):
    """A fault point and the fault put there."""

    id: str
    point: Point
    fault: str
    times: int = 1
    """1 once; k a window of k calls, after which the site recovers; 0 persistent."""
    second: str = ""
    """What happens to one release of the clean-up, as ``NAME.METHOD/PHASE/FAULT``; see
    `faultinject.faults.SecondFault`. Empty where nothing does."""


class ReleaseCall(msgspec.Struct, frozen=True):
    """A release method that was called on an owned, or a lent, object."""

    name: str
    method: str
    by: str
    owned: bool
    failed: bool = False
    sequence: int = 0


class Raised(msgspec.Struct, frozen=True):
    """The exception that left the target, compared with the injected one."""

    type: str
    text: str
    same_object: bool
    altered: tuple[str, ...] = ()
    """Which of args, ``__cause__``, ``__context__``, notes were changed on the way."""
    ends_at_fault: bool = True
    passes_target: bool = True
    linked: str = ""
    """How a replacing exception still leads to the injected one: ``cause``, ``context`` or ``""``."""
    replaced_in: str = ""
    """``module:qualname`` of the frame in which another exception took its place."""
    frames: tuple[str, ...] = ()
    is_second: bool = False
    """Whether what took its place is the second fault of the case."""
    chain: tuple[str, ...] = ()
    """What it was raised from, or while handling, the nearest first: ``from RuntimeError: text (injected)``,
    ``while handling OSError: text``."""


class Left(msgspec.Struct, frozen=True):
    """Something the target brought to life and that was still there after it had failed."""

    probe: str
    key: str
    item: Item
    charged_to: str
    nested: bool
    grade: Grade
    step: int = 0


class StateChange(msgspec.Struct, frozen=True):
    """Process-wide state that was not as before."""

    probe: str
    key: str
    label: str
    before: str
    after: str
    charged_to: str = ""
    nested: bool = False
    grade: Grade = "never"
    step: int = 0


class Observation(msgspec.Struct, frozen=True):
    """Everything seen of one case, from inside its process and from outside; no opinion."""

    case: str
    runner: str
    reached: bool = False
    stage: str = "started"
    """How far it came: started, armed, fault, left-target, settled, dropped, collected, retried, done."""
    place: str = ""
    fault_stack: tuple[str, ...] = ()
    """``module:qualname`` of the frames from the target to the fault, target first."""
    own: int = 1
    """How many of `fault_stack`, from its beginning, are the target's own."""
    step: int = 0
    raised: Raised | None = None
    returned: bool = False
    handled_by: str = ""
    missing_attributes: tuple[str, ...] = ()
    acquired: tuple[Acquisition, ...] = ()
    owned: tuple[str, ...] = ()
    owned_by: tuple[str, ...] = ()
    """For each of `owned`, the innermost own frame that had received it, where the target names frames of its
    own; otherwise the target's one frame had received them all."""
    left: tuple[Left, ...] = ()
    state: tuple[StateChange, ...] = ()
    releases: tuple[ReleaseCall, ...] = ()
    prompt_releases: int = 0
    """How many of `releases` were called before the exception left the target; finalizers made the rest."""
    ended: tuple[tuple[str, str, int], ...] = ()
    """(probe, key, sequence) in the order in which resources were seen to go while unwinding."""
    order: tuple[tuple[str, int, int], ...] = ()
    """(name, place in the order of acquisition, sequence) of what the target owned and gave back."""
    foreign_removed: tuple[tuple[str, str, str], ...] = ()
    """(probe, label, by whom) that existed before the target and that it removed."""
    foreign_vanished: tuple[tuple[str, str], ...] = ()
    """(probe, label) that existed before and vanished without a call of the target's."""
    probe_errors: tuple[tuple[str, str], ...] = ()
    clean_up_seconds: float = 0.0
    retry: str = ""
    """``""`` not tried, ``ok``, otherwise what went wrong."""
    retry_differs: tuple[str, ...] = ()
    exit_status: int | None = None
    timed_out: bool = False
    hang_stack: str = ""
    output: str = ""
    """The end of what the case's process wrote, where it is of interest."""
    seconds: float = 0.0
    timeline: tuple[tuple[float, str], ...] = ()
    second_reached: bool = False
    """Whether the release that the second fault waits for was called while the first was on its way."""
    second_thread: int = 0
    """Kernel number of the thread that hangs in a release, 0 for none."""
    came_late: bool = False
    """Whether a signal was handled only when nothing of the target's was on the stack any more."""
    handled_outside: str = ""
    """``module:qualname`` of the code in which it then was, unless in the tool's own."""
    lines: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """(file, numbers) of the lines that ran while the fault was on its way, where they are asked for."""


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong with a case.

    `violation` is true where it is charged to the target, false where a layer beneath answers for it.
    """

    verdict: Verdict
    charged_to: str
    violation: bool
    what: str
    resources: tuple[str, ...] = ()
    grade: Grade | None = None


class CaseResult(msgspec.Struct, frozen=True):
    """A judged case, as it stands in the JSON report."""

    id: str
    point: Point
    phase: Phase
    fault: str
    verdict: Verdict
    violation: bool
    charged_to: str
    owned: tuple[str, ...]
    released: tuple[str, ...]
    left: tuple[str, ...]
    exception: str
    runner: str
    seconds: float
    problems: tuple[Problem, ...] = ()
    grade: Grade | None = None
    confirmed: bool = False
    confirmed_by: str = ""
    """Id of the confirmed case of the same class that speaks for this one, where it was not run itself."""
    stands_for: int = 1
    """How many cases of the same class its confirmation speaks for."""
    runs: tuple[str, ...] = ()
    """The verdict of each repetition."""
    handled_by: str = ""
    notes: tuple[str, ...] = ()
    times: int = 1
    second: str = ""
    second_reached: bool = False


class Finding(msgspec.Struct, frozen=True):
    """Violations with one root: the same owned set unreleased by the same frame."""

    verdict: Verdict
    charged_to: str
    violation: bool
    resources: tuple[str, ...]
    count: int
    smallest: str
    """Id of the smallest case."""
    handler: str
    """The handler, or the missing handler, that should have released."""
    place: str = ""
    what: str = ""
    steady: str = ""
    """Such as ``3 of 3``."""


class Summary(msgspec.Struct, frozen=True):
    cases: int
    violations: int
    nested: int
    verdicts: dict[Verdict, int]
    findings: tuple[Finding, ...]
    unsteady: tuple[str, ...] = ()
    confirmed: int = 0
    seconds: float = 0.0
    complete: bool = True
    seconds_by_stage: dict[str, float] = {}
