"""One case, inside its own process: construct, fault, unwind, look, drop, collect, look, try again."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from gc import collect, get_objects  # its own references: a target may put something else in their place
from types import FrameType
from typing import Any, Literal

from faultinject.backends import Backend, choose_backend
from faultinject.facts import Acquisition, Case, Grade, Left, Observation, Raised, StateChange
from faultinject.probes import ProbeSet
from faultinject.runners._armed import Armed
from faultinject.runners._construct import Constructor
from faultinject.runners._messages import Expectation, Settings
from faultinject.runners._probing import ignored, remaining, settle
from faultinject.runners._second import ArmedSecond
from faultinject.targets import Call, Target
from faultinject.tracking import (
    Entry,
    Identifier,
    Ledger,
    OwnNames,
    Path,
    Tracker,
    acquisition_of,
    charged,
    frame_name,
)

_ENDS_BY_ITSELF = frozenset({"processes", "threads", "multiprocessing", "asyncio tasks"})
"""What may still be on its way out when the exception arrives; the rest is gone or left."""

_LINKS = 10
"""Exceptions of one chain that are told of."""

Cost = Literal["cheap", "all"]
Report = Callable[[Observation], None]


class CaseRun:
    """Holds one case's tracker and ledger, and takes the observation apart in stages.

    Args:
        report: called with the observation so far after each stage, so that a process which hangs or
            dies later has said what it saw before.
    """

    def __init__(
        self,
        target: Target,
        probes: ProbeSet,
        case: Case,
        settings: Settings,
        expectation: Expectation,
        report: Report,
        runner: str,
    ) -> None:
        self.target = target
        self.probes = probes
        self.case = case
        self.settings = settings
        self.expectation = expectation
        self.report = report
        self.runner = runner
        self.excused = {(p, g): n for p, g, n in expectation.residue}
        self.armed = Armed(case)
        self.second = ArmedSecond(case, expectation, self._second_comes) if case.second else None
        self.started = time.perf_counter()
        self.facts: dict[str, Any] = {}
        self.keep_exception = False
        """Whether the exception is not to be dropped: in a copy that lacks the target's threads, a destructor
        would wait for them for ever. What is held then counts as left; a whole run tells late from leaked."""
        self.not_judged: tuple[str, ...] = ()
        """Globs ``probe:key`` of what a copy that lacks the target's threads cannot give back."""
        self.stage = "started"

    def run(self, *, retry: bool) -> None:
        """The whole case, in a process that has imported the target and built nothing."""
        constructor = Constructor(self.target, self.expectation.release)
        call = constructor.prepare()
        tracker, backend = self.arm(call)
        backend.install(tracker, tracker.is_root if self.settings.level == "opcodes" else None)
        self.held = list(constructor.construct(call))
        self.finish(constructor, tracker, backend, call, cost="all")
        undone = self.second is not None and self.second.undone
        if retry and self.facts.get("reached") and not undone:
            assert tracker.ledger is not None
            self.retry(constructor, tracker.ledger)
        constructor.close()
        self.done()

    def done(self) -> None:
        """All is seen but the end of the process."""
        self._tell("done")

    def swallowed_by(self, name: str) -> None:
        """The fault did not come out, and no frame heard to return has swallowed it: this one did."""
        self._held_back_by = name

    def arm(self, call: Call, own: OwnNames | None = None) -> tuple[Tracker, Backend]:
        """Look at what there is before the target, and make what waits for the point of the case.

        Args:
            own: tells the target's own frames; by default the target's globs do.
        """
        lent = {**objects_before(), **{id(one): type(one) for one in (*call[1], *call[2].values())}}
        baseline = self.probes.snapshot("all")
        ledger = Ledger(self.probes, baseline)
        backend = choose_backend(self.settings.backend, self.settings.attributes)
        inner = self.settings.level not in ("steps", "opcodes")
        tracker = Tracker(
            Identifier(self.settings.level, self.settings.depth),
            ledger,
            self.armed,
            backend,
            dense=inner,
            costly=True,
            owners=self.expectation.owners,
            leave_out_guards=not self.settings.include_cleanup,
            leave_out_finalizers=not self.settings.include_finalizers,
            lent=lent,
            own=own if own is not None else self.target.own,
            second=self.second.awaited if self.second is not None else None,
            second_owners=self.expectation.second_owners,
        )
        tracker.follow_lines(self.settings.cover)
        self.armed.on_fire = self._fired
        self._tell("armed")
        return tracker, backend

    def _fired(self) -> None:
        """Said before the fault is raised: if no more is heard, the unwinding hung or ended the process."""
        self.facts["reached"] = True
        self._tell("fault")

    @property
    def ends_at_once(self) -> bool:
        """Whether the process ends without waiting for its threads: what a release could not give back is
        excused, and would be waited for."""
        second = self.second
        return second is not None and second.undone and not second.keeps_from_ending

    def _second_comes(self, thread: int) -> None:
        """Said before the second fault comes, in whichever thread the release runs."""
        self.facts.update(second_reached=True, second_thread=thread)
        self._tell("fault")

    held: list[Any]
    """The target's result and exception: the only references to them, so that they can be let go."""

    def finish(
        self, constructor: Constructor, tracker: Tracker, backend: Backend, call: Any, cost: Cost
    ) -> None:
        """Look at what the target left, while its exception is held, after it is dropped, and collected.

        Args:
            cost: which probes to look through: ``all``, or ``cheap`` when screening.
        """
        backend.remove()
        if tracker.lines is not None:
            self.facts["lines"] = tracker.lines.found()
        self._end_arrival(tracker)
        fault = tracker.fault
        returned = self.held[1] is None
        reached = fault is not None or "came_late" in self.facts
        self.facts.update(reached=reached, step=tracker.step, returned=returned)
        if not returned:
            self.facts["raised"] = self._compare(self.held[1], tracker)
        if fault is None:
            self._tell("left-target")
            if returned:
                constructor.release(self.held[0], call[0])
            self.held.clear()
            return
        self.facts.update(
            place=fault.place,
            fault_stack=tuple(name for _, name in fault.path),
            own=fault.own,
            step=fault.step,
            clean_up_seconds=max(0.0, (tracker.watch.left_at or time.perf_counter()) - fault.at),
            handled_by=tracker.watch.handled_by or self._held_back_by,
        )
        if returned:
            self._returned(constructor, tracker, call, cost)
            return
        tracker.watch.end()
        try:
            self._stages(constructor, tracker, backend, cost)
        finally:
            backend.remove()

    def _end_arrival(self, tracker: Tracker) -> None:
        """What became of a signal that arrived at an instruction, if its handler raised nothing."""
        arrival = self.armed.arrival
        if arrival is None:
            return
        arrival.end()
        if tracker.fault is not None or arrival.held_back is None:
            return
        if arrival.came_late:
            self.facts.update(came_late=True, handled_outside=arrival.outside)
            return
        tracker.fault = arrival.held_back
        if self.held[1] is None:
            self._held_back_by = tracker.roots[0]
        elif arrival.is_answer(self.held[1]):
            arrival.adopt(self.held[1])

    _held_back_by = ""

    def _returned(self, constructor: Constructor, tracker: Tracker, call: Any, cost: Cost) -> None:
        """The fault was swallowed and the caller has an object: it gives it back, as always."""
        ledger = tracker.ledger
        assert ledger is not None
        result = self.held[0]
        if hasattr(result, "__dict__"):
            self.facts["missing_attributes"] = tuple(
                sorted(set(self.expectation.attributes) - set(vars(result)))
            )
        self._facts_of_ledger(ledger, tracker, [])
        self._tell("left-target")
        failure = constructor.release(result, call[0])
        if failure is not None:
            self.facts["retry"] = f"the release of what it returned: {type(failure).__name__}: {failure}"[
                :300
            ]
        del result, failure
        self.held.clear()
        constructor.breathe()
        collect()
        settle(ledger, constructor, self.settings.settle, self.excused, cost)
        self._facts_of_ledger(ledger, tracker, self._remaining(ledger))
        self._tell("collected")

    def _stages(self, constructor: Constructor, tracker: Tracker, backend: Backend, cost: Cost) -> None:
        ledger = tracker.ledger
        assert ledger is not None
        tracker.note("the exception has left the target")
        prompt = len(tracker.watch.releases)
        ledger.look(lambda: (), 0, cost=cost)
        self.facts["order"] = _order(ledger, tracker)
        if cost == "cheap" and self._helpers_end(ledger):
            settle(ledger, constructor, self.settings.settle, self.excused, cost)
        for probe, key in ledger.vanished:
            if probe == "fds":
                ledger.removed.setdefault((probe, key), "")
        held = self._remaining(ledger)
        self._facts_of_ledger(ledger, tracker, held)
        self.facts["prompt_releases"] = prompt
        self._tell("left-target")
        unreleased = {o.name for o in tracker.owned} - {r.name for r in tracker.watch.releases if r.owned}
        if self.keep_exception or (cost == "cheap" and not held and not unreleased):
            return
        # Heard from here on, for the releases that finalizers make. Not before: nothing of the target's runs
        # while its exception is held, and the tool's own calls would cost more than the rest of a light case.
        if cost == "all" or unreleased:
            backend.install(tracker)
        if cost == "all" and any(e.probe in _ENDS_BY_ITSELF for e in held):
            settle(ledger, constructor, self.settings.settle, self.excused, cost)
            held = self._remaining(ledger)
            self._facts_of_ledger(ledger, tracker, held)
        self._tell("settled")
        grades: dict[tuple[str, str], Grade] = {}
        waiting = {(e.probe, e.key): e for e in held}
        self.held.clear()
        constructor.breathe()
        if waiting or tracker.owned:
            ledger.look(lambda: (), 0, cost=cost)
            self._grade(ledger, waiting, grades, "dropped")
            if waiting and cost == "all":
                collect()
                constructor.breathe()
                ledger.look(lambda: (), 0, cost=cost)
                self._grade(ledger, waiting, grades, "collected")
        backend.remove()
        self._facts_of_ledger(ledger, tracker, held, grades)
        tracker.note("the exception was dropped" + (" and the heap collected" if waiting else ""))
        self._tell("collected")

    def _helpers_end(self, ledger: Ledger) -> bool:
        """Whether threads of the clean-up may still be on their way out, the one that hangs left aside."""
        hangs = f"{self.facts.get('second_thread', 0)}:"
        return any(
            e.after_fault and e.probe in _ENDS_BY_ITSELF and not e.key.startswith(hangs)
            for e in ledger.live.values()
        )

    def _grade(
        self,
        ledger: Ledger,
        waiting: dict[tuple[str, str], Entry],
        grades: dict[tuple[str, str], Grade],
        grade: Grade,
    ) -> None:
        for key in list(waiting):
            if key not in ledger.live:
                grades.setdefault(key, grade)
                del waiting[key]

    def _remaining(self, ledger: Ledger) -> list[Entry]:
        return [
            e
            for e in remaining(ledger, self.excused)
            if not ignored(e.probe, e.key, self.target, self.settings, self.not_judged)
        ]

    def _facts_of_ledger(
        self,
        ledger: Ledger,
        tracker: Tracker,
        held: list[Entry],
        grades: dict[tuple[str, str], Grade] | None = None,
    ) -> None:
        fault = tracker.fault
        assert fault is not None
        left: list[Left] = []
        state: list[StateChange] = []
        for entry in held:
            name, nested = charged(entry.path or _makers_path(held), fault.path, fault.own)
            grade: Grade = (grades or {}).get((entry.probe, entry.key), "exit")
            if entry.is_state:
                before = entry.before.value if entry.before is not None else "(absent)"
                after = entry.item.value or "(absent)"
                label = entry.item.label or entry.key
                state.append(
                    StateChange(entry.probe, entry.key, label, before, after, name, nested, grade, entry.step)
                )
            else:
                left.append(Left(entry.probe, entry.key, entry.item, name, nested, grade, entry.step))
        self.facts.update(
            left=tuple(left),
            state=tuple(state),
            owned=tuple(o.name for o in tracker.owned),
            owned_by=tuple(charged(o.path, fault.path, fault.own)[0] for o in tracker.owned)
            if tracker.nests
            else (),
            releases=tuple(tracker.watch.releases),
            ended=tuple((p, k, s) for (p, k), s, _ in ledger.ended),
            acquired=_acquired(ledger) if self.runner != "fork" else (),
            foreign_removed=tuple(
                (p, ledger.baseline[p][k].label, by) for (p, k), by in ledger.removed.items()
            ),
            foreign_vanished=tuple(
                (p, item.label) for (p, k), item in ledger.vanished.items() if (p, k) not in ledger.removed
            ),
            probe_errors=tuple(self.probes.errors.items()),
            timeline=tuple(tracker.timeline),
        )

    def _compare(self, exception: BaseException, tracker: Tracker) -> Raised:
        fault = tracker.fault
        same = self.armed.is_injected(exception)
        text = str(exception)[:300]
        frames = _frames(exception)
        names = tuple(frame_name(f) for f, _ in frames)
        chain = self._chain(exception)
        if fault is None:
            return Raised(type(exception).__qualname__, text, False, frames=names, chain=chain)
        roots = set(tracker.roots)
        passes = any(name in roots for name in names)
        ends = fault.code is None or any(
            f.f_code is fault.code and line == fault.line for f, line in frames[-4:]
        )
        if same:
            altered = []
            if exception.__cause__ is not None:
                altered.append("__cause__")
            context = exception.__context__
            if (id(context) if context is not None else 0) != tracker.context_at_fault:
                altered.append("__context__")
            if self.armed.arguments is not None and exception.args != self.armed.arguments:
                altered.append("args")
            if getattr(exception, "__notes__", None):
                altered.append("__notes__")
            return Raised(
                _plain(exception), text, True, tuple(altered), ends, passes, frames=names, chain=chain
            )
        linked, injected = self._link(exception, tracker)
        replaced_in = ""
        if injected is not None and injected.__traceback__ is not None:
            own = [f for f, _ in _frames(injected)]
            replaced_in = frame_name(own[0]) if own else ""
        if not replaced_in:
            on_stack = {name for _, name in fault.path}
            replaced_in = next((n for n in reversed(names) if n in on_stack), names[0] if names else "")
        del injected
        second = self.second is not None and self.second.is_injected(exception)
        return Raised(
            _plain(exception), text, False, (), False, passes, linked, replaced_in, names, second, chain
        )

    def _chain(self, exception: BaseException) -> tuple[str, ...]:
        """What `exception` was raised from, or while handling."""
        found: list[str] = []
        seen = {id(exception)}
        while len(found) < _LINKS:
            how, link = "from", exception.__cause__
            if link is None and not exception.__suppress_context__:
                how, link = "while handling", exception.__context__
            if link is None or id(link) in seen:
                break
            seen.add(id(link))
            injected = " (injected)" if self.armed.is_injected(link) else ""
            found.append(f"{how} {_plain(link)}: {str(link)[:300]}{injected}")
            exception = link
        return tuple(found)

    def _link(self, exception: BaseException, tracker: Tracker) -> tuple[str, BaseException | None]:
        """How `exception` leads back to the injected one."""
        seen: set[int] = set()
        queue: list[tuple[BaseException, str]] = [(exception, "")]
        while queue:
            current, how = queue.pop(0)
            if id(current) in seen:
                continue
            seen.add(id(current))
            if current is not exception and self.armed.is_injected(current):
                return how, current
            if current.__cause__ is not None:
                queue.append((current.__cause__, how or "cause"))
            if current.__context__ is not None and not current.__suppress_context__:
                queue.append((current.__context__, "context" if how != "context" else how))
            if isinstance(current, BaseExceptionGroup):
                queue.extend((inner, how or "group") for inner in current.exceptions)
        return "", self.armed.first()

    def retry(self, constructor: Constructor, ledger: Ledger) -> None:
        """A second, unharmed construction must succeed and hold what the first recording held."""
        if self.facts.get("retry"):
            return
        self._tell("retrying")
        call = constructor.prepare()
        ledger.look(lambda: (), 0, cost="all")  # what was lent for this construction is not held by it
        before = self._held(ledger)
        result, exception = constructor.construct(call)
        if exception is not None:
            self.facts["retry"] = f"{type(exception).__name__}: {exception}"[:300]
            return
        self.facts["retry"] = "ok"
        differs = self._differs(ledger, before)
        if differs:
            collect()
            differs = self._differs(ledger, before)
        self.facts["retry_differs"] = tuple(differs)
        failure = constructor.release(result, call[0])
        if failure is not None:
            self.facts["retry"] = f"its release: {type(failure).__name__}: {failure}"[:300]

    def _held(self, ledger: Ledger) -> Counter[str]:
        """How much of each kind there is now, as the recording has counted it."""
        return Counter(
            e.probe
            for e in ledger.live.values()
            if not e.is_state and not ignored(e.probe, e.key, self.target, self.settings)
        )

    def _differs(self, ledger: Ledger, before: Counter[str]) -> list[str]:
        """Of which kinds a second construction holds more or less than the recording says."""
        ledger.look(lambda: (), 0, cost="all")
        now = self._held(ledger)
        once = Counter({p: n for p, _, n in self.expectation.residue})
        return [
            f"{probe}: {have} instead of {number}"
            for probe, number in self.expectation.holds
            if not number - once[probe] <= (have := now[probe] - before[probe]) <= number
        ]

    def _tell(self, stage: str) -> None:
        self.report(
            Observation(
                self.case.id,
                self.runner,
                stage=stage,
                seconds=time.perf_counter() - self.started,
                **self.facts,
            )
        )


def _makers_path(held: list[Entry]) -> Path:
    """Whence what came while no frame of the target's was running: from a thread or process that it left."""
    return next((e.path for e in reversed(held) if e.probe in ("processes", "threads")), ())


def _acquired(ledger: Ledger) -> tuple[Acquisition, ...]:
    """What the target acquired before the fault, oldest first, for the timeline."""
    entries = [*ledger.live.values(), *(entry for entry, _ in ledger.gone)]
    return tuple(acquisition_of(e) for e in sorted(entries, key=lambda e: e.order) if not e.after_fault)[:200]


_ORDERED = frozenset({"fds", "temporary files", "shared memory", "semaphores"})
"""Resources whose end is the releasing call's; a thread or a process ends in its own time."""


def _order(ledger: Ledger, tracker: Tracker) -> tuple[tuple[str, int, int], ...]:
    """(name, step that acquired it, sequence of its release) of what the target owned and gave back."""
    assert tracker.fault is not None
    found: dict[int, tuple[str, int, int]] = {}
    for entry, sequence in ledger.gone:
        if sequence <= tracker.fault.sequence:
            continue  # Made and given back in the ordinary course of the construction.
        nested = charged(entry.path, tracker.fault.path, tracker.fault.own)[1]
        if (
            entry.probe in _ORDERED
            and not nested
            and not entry.after_fault
            and 0 < entry.step <= tracker.fault.step
        ):
            known = found.get(entry.step)
            if known is None or known[2] > sequence:
                found[entry.step] = (entry.item.label, entry.step, sequence)
    for owned in tracker.owned:
        calls = [r.sequence for r in tracker.watch.releases if r.owned and r.name == owned.name]
        if calls:
            found[owned.step] = (owned.name, owned.step, min(calls))
    return tuple(sorted(found.values(), key=lambda one: one[2]))


def _plain(exception: BaseException) -> str:
    """The type's name as a user knows it: an injected one goes by the name of what it stands for."""
    spec = getattr(type(exception), "__fault__", None)
    return str(spec.name if spec is not None else type(exception).__qualname__)


def _frames(exception: BaseException) -> list[tuple[FrameType, int]]:
    """The frames of a traceback, outermost first, without the tool's own."""
    found: list[tuple[FrameType, int]] = []
    place = exception.__traceback__
    while place is not None:
        module = place.tb_frame.f_globals.get("__name__", "")
        if not module.startswith("faultinject.") or module.startswith("faultinject.targets"):
            found.append((place.tb_frame, place.tb_lineno))
        place = place.tb_next
    return found


def objects_before() -> dict[int, type]:
    """id -> type of every instance of a class outside the standard library that exists now."""
    if _OBJECTS.get("pid") == os.getppid() or _OBJECTS.get("pid") == os.getpid():
        # A fork's objects are where its parent's were.
        return _OBJECTS["found"]  # type: ignore[no-any-return]
    known: dict[type, bool] = {}
    found: dict[int, type] = {}
    stdlib = sys.stdlib_module_names
    for thing in get_objects():
        kind = type(thing)
        wanted = known.get(kind)
        if wanted is None:
            module = str(kind.__module__)
            wanted = known[kind] = bool(kind.__flags__ & (1 << 9)) and module.partition(".")[0] not in stdlib
        if wanted:
            found[id(thing)] = kind
    _OBJECTS.update(pid=os.getpid(), found=found)
    return found


_OBJECTS: dict[str, Any] = {}
