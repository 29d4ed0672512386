"""One unharmed run: the fault points, the ownership table, and how the result is given back."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from gc import collect  # its own reference: a target may put something else in its place
from types import FrameType
from typing import Any

import msgspec

from faultinject._amounts import human_bytes
from faultinject._near import near
from faultinject.backends import check_reached, choose_backend
from faultinject.errors import HookTakenError, TargetError, UsageError
from faultinject.facts import Acquisition, Owned, Phase, Point, ReleaseCall, Step
from faultinject.probes import ProbeSet
from faultinject.runners._construct import Constructor
from faultinject.runners._messages import Recorded, Settings
from faultinject.runners._probing import ignored, settle
from faultinject.targets import Target
from faultinject.tracking import (
    Identifier,
    Ledger,
    OwnedObject,
    OwnNames,
    Site,
    Tracker,
    is_stdlib,
    loaded_modules,
    short_callee,
)


class PointRecorder:
    """Notes every fault point that an unharmed run reaches."""

    def __init__(self, settings: Settings) -> None:
        self.level = settings.level
        self.points: list[Point] = []
        self.stacks: list[tuple[str, ...]] = []

    def at(self, site: Site, phase: Phase, frame: FrameType, tracker: Tracker) -> None:
        self.points.append(site.point(self.level, phase))
        path = tracker.stack.path(frame)
        self.stacks.append(tuple(name for _, name in path))

    def modules(self, cover: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """(name, file) of the modules whose lines are of interest, should any be."""
        if not cover:
            return ()
        met = {name.partition(":")[0] for point in self.points for name in (point.caller, point.callee)}
        return loaded_modules(cover, met)


def record(target: Target, probes: ProbeSet, settings: Settings, release: str, twice: bool) -> Recorded:
    """Run the target once unharmed, give its result back, and tell what was seen.

    Args:
        twice: also construct and release a second time, to tell what a process acquires only once
            (and keeps) from what every construction leaves behind.

    Raises:
        TargetError: the target fails without any fault.
        UsageError: a glob of own frames fits none.
    """
    constructor = Constructor(target, release)
    call = constructor.prepare()
    baseline = probes.snapshot("all")
    ledger = Ledger(probes, baseline)
    recorder = PointRecorder(settings)
    backend = choose_backend(settings.backend, settings.attributes)
    products: list[OwnedObject] = []
    tracker = Tracker(
        Identifier(settings.level, settings.depth),
        ledger,
        recorder,
        backend,
        dense=settings.level not in ("steps", "opcodes"),
        leave_out_guards=not settings.include_cleanup,
        leave_out_finalizers=not settings.include_finalizers,
        products=products,
        costly=True,
        own=target.own,
    )
    started = time.perf_counter()
    backend.install(tracker, tracker.is_root if settings.level == "opcodes" else None)
    try:
        result, exception = constructor.construct(call)
    finally:
        backend.remove()
    seconds = time.perf_counter() - started
    if exception is not None:
        raise fails_unharmed(target, exception)
    check_reached(backend, offered=bool(recorder.points))
    check_own(target, tracker.names)
    holds = holding(ledger, target, settings)
    release_name = constructor.find_release(result)
    attributes = tuple(sorted(_attributes(result)))
    acquired = steps_of(tracker, target, settings)
    frame = tracker.roots[0] if tracker.roots else target.name
    holders = dict(_holders(result, products))
    tracker, calls, failure = _release(constructor, ledger, products, result, call, settings, tracker)
    del result
    settle(ledger, constructor, settings.settle)
    residue, unreleased, notes = _residue(constructor, ledger, target, probes, settings, twice)
    if failure is not None:
        notes.append(f"its release raised {type(failure).__name__}: {failure}")
    owned, owners = owned_table(acquired, products, calls, holders, tracker)
    names = {start: name for start, name in owners.items()}
    made = {
        product.name: names.get(tracker.started.get(product.name, (product.name, 0))[0], "")
        for product in products
    }
    counts = tuple(
        (f"{name}.{method}", number)
        for (name, method), number in sorted(Counter((made.get(c.name, ""), c.method) for c in calls).items())
        if name
    )
    constructor.close()
    capped = tracker.identifier.capped
    return Recorded(
        tuple(recorder.points),
        tuple(recorder.stacks),
        acquired,
        owned,
        owners,
        residue,
        unreleased,
        holds,
        attributes,
        release_name,
        seconds,
        capped,
        notes=tuple(notes),
        frame=frame,
        release_counts=counts,
        modules=recorder.modules(settings.cover),
    )


def fails_unharmed(target: Target, exception: BaseException) -> TargetError:
    """The error of a target that fails although nothing was injected."""
    return TargetError(
        f"target {target.name} fails without any fault: {type(exception).__name__}: {exception}; "
        "make it construct first, then sweep it",
        original=_original(exception),
    )


def holding(ledger: Ledger, target: Target, settings: Settings) -> tuple[tuple[str, int], ...]:
    """(probe, count) of what is live of the target's now, and not only waits for the collector."""
    collect()
    ledger.look(lambda: (), 0, cost="all")
    held = [e for e in ledger.live.values() if not ignored(e.probe, e.key, target, settings)]
    return tuple(sorted(Counter(e.probe for e in held if not e.is_state).items()))


def steps_of(tracker: Tracker, target: Target, settings: Settings) -> tuple[Step, ...]:
    """The steps that were followed, without what is not to be judged."""
    return tuple(_without_ignored(step, target, settings) for step in tracker.steps)


def check_own(target: Target, names: OwnNames | None) -> None:
    """See that each glob of own frames fits one: else what it was to name would be judged as nested."""
    if names is None or not names.unused:
        return
    glob = next(iter(names.unused))
    raise UsageError(
        f"target {target.name}: own frame {glob!r} fits no frame that an own frame of the target "
        f"calls{near(glob, names.others)}; write it as a glob of module:qualname"
    )


def _original(exception: BaseException) -> str:
    """The traceback, from the target's own frame on."""
    place = exception.__traceback__
    while place is not None and place.tb_frame.f_globals.get("__name__", "").startswith(
        "faultinject.runners."
    ):
        place = place.tb_next
    return "".join(traceback.format_exception(type(exception), exception, place))


def _without_ignored(step: Step, target: Target, settings: Settings) -> Step:
    kept = tuple(a for a in step.acquired if not ignored(a.probe, a.key, target, settings))
    return step if len(kept) == len(step.acquired) else msgspec.structs.replace(step, acquired=kept)


def _release(
    constructor: Constructor,
    ledger: Ledger,
    products: list[OwnedObject],
    result: Any,
    call: Any,
    settings: Settings,
    built: Tracker,
) -> tuple[Tracker, list[ReleaseCall], BaseException | None]:
    """Give the result back under a tracker of its own: what is released, by what, in which order."""
    backend = choose_backend("")
    # Every new call site is looked at, so that each release is named by the call that made it.
    watcher = Tracker(Identifier("sites"), ledger, None, backend, products=products, dense=True)
    watcher.release_mode = True
    ledger.ended.clear()
    watcher.started = built.started
    watcher.identifier.capped = built.identifier.capped
    try:
        backend.install(watcher)
    except HookTakenError:
        # Chosen where the interpreter's hook is not free: then the release goes unwatched.
        if settings.backend != "patching" and not settings.attributes:
            raise
    try:
        failure = constructor.release(result, call[0])
    finally:
        backend.remove()
    return watcher, watcher.watch.releases, failure


def _residue(
    constructor: Constructor,
    ledger: Ledger,
    target: Target,
    probes: ProbeSet,
    settings: Settings,
    twice: bool,
) -> tuple[tuple[tuple[str, str, int], ...], tuple[tuple[str, str, int], ...], list[str]]:
    """What stays after the normal release: once per process, and again after every construction."""
    first = left_of(ledger, target, settings)
    notes: list[str] = []
    if not twice:
        # One construction does not tell what stays once from what every construction leaves.
        return (), (), notes
    call = constructor.prepare()
    result, exception = constructor.construct(call)
    if exception is not None:
        notes.append(
            f"a second construction in the same process fails without any fault: "
            f"{type(exception).__name__}: {exception}"
        )
        return tuple((p, g, n) for (p, g), n in sorted(first.items())), (), notes
    constructor.release(result, call[0])
    del result, call
    settle(ledger, constructor, settings.settle, {key: n for key, n in first.items()})
    second = left_of(ledger, target, settings)
    once: list[tuple[str, str, int]] = []
    again: list[tuple[str, str, int]] = []
    for key in sorted(first.keys() | second.keys()):
        grown = max(0, second[key] - first[key])
        kept = max(first[key], second[key]) - grown * 2 if grown else first[key]
        if grown:
            again.append((*key, grown))
        if kept > 0:
            once.append((*key, kept))
    return tuple(once), tuple(again), notes


def left_of(ledger: Ledger, target: Target, settings: Settings) -> Counter[tuple[str, str]]:
    """(probe, group) of what is live of the target's now, and how often."""
    ledger.look(lambda: (), 0, cost="all")
    left: Counter[tuple[str, str]] = Counter()
    for entry in ledger.live.values():
        if not ignored(entry.probe, entry.key, target, settings):
            left[(entry.probe, entry.key if entry.is_state else entry.item.group or entry.item.label)] += 1
    return left


def _attributes(result: Any) -> list[str]:
    names = list(getattr(result, "__dict__", ()))
    for kind in type(result).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        names += [s for s in ((slots,) if isinstance(slots, str) else slots) if hasattr(result, s)]
    return [str(name) for name in names]


def _holders(result: Any, products: list[OwnedObject]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, value in list(getattr(result, "__dict__", {}).items()):
        for product in products:
            if product.is_it(value):
                found.append((product.name, f"self.{name}"))
    return found


def owned_table(
    steps: tuple[Step, ...],
    products: list[OwnedObject],
    calls: list[ReleaseCall],
    holders: dict[str, str],
    watcher: Tracker,
) -> tuple[tuple[Owned, ...], dict[str, str]]:
    """The ownership table, found: which step hands over what, who holds it, what gives it back, and when."""
    assert watcher.ledger is not None
    by_number = {step.number: step for step in steps}
    released_by = {key: (by, sequence) for key, sequence, by in watcher.ledger.ended if by}
    first_call: dict[str, ReleaseCall] = {}
    for call in calls:
        first_call.setdefault(call.name, call)
    rows: list[tuple[Owned, int]] = []
    owners: dict[str, str] = {}
    covered: set[int] = set()
    for product in products:
        released = first_call.get(product.name)
        if released is None or product.module.partition(".")[0] == "contextlib":
            continue
        start, number = watcher.started.get(product.name, (product.name, product.step))
        step = by_number.get(number)
        holder = holders.get(product.name, "")
        name = _unused(
            holder.removeprefix("self.").lstrip("_") or product.type_name.rpartition(".")[2], rows, number
        )
        row = Owned(
            name,
            number,
            start.rpartition("#")[0],
            released.method,
            holder,
            amounts(step.acquired if step is not None else ()),
            line=step.line if step else 0,
            made_in=product.step,
        )
        rows.append((row, released.sequence))
        covered.add(number)
        if not is_stdlib(product.module):
            owners[start] = name
    for step in steps:
        if not step.acquired or step.number in covered:
            continue
        ends = {released_by[(a.probe, a.key)] for a in step.acquired if (a.probe, a.key) in released_by}
        names = sorted({short_callee(by) for by, _ in ends})
        holder = next((h for n, h in holders.items() if n.rpartition("#")[0] == step.callee), "")
        row = Owned(
            _unused(_name_of(step.acquired), rows, step.number),
            step.number,
            step.callee,
            ", ".join(names),
            holder,
            amounts(step.acquired),
            line=step.line,
        )
        rows.append((row, min((sequence for _, sequence in ends), default=0)))
    ranks = {sequence: rank for rank, sequence in enumerate(sorted({s for _, s in rows if s}), 1)}
    table = [msgspec.structs.replace(row, order=ranks.get(sequence, 0)) for row, sequence in rows]
    table.sort(key=lambda row: row.step)
    return tuple(table), owners


def _unused(name: str, rows: list[tuple[Owned, int]], number: int) -> str:
    return f"{name}#{number}" if any(row.name == name for row, _ in rows) else name


def _name_of(acquired: tuple[Acquisition, ...]) -> str:
    """The word for what a step brought, where no object stands for it."""
    return ", ".join(sorted({"GC freeze" if a.key == "freeze_count" else a.probe for a in acquired}))


def amounts(acquired: tuple[Acquisition, ...]) -> tuple[str, ...]:
    """``+52 fds``, ``+480 MiB shared memory``, ``gc: freeze_count 676626``: probe by probe."""
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    states: list[str] = []
    for one in acquired:
        if one.key == "freeze_count":
            states.append("GC frozen")
        elif one.item.value:
            # Not its value: that may be another one in each run.
            states.append(one.item.label)
        elif one.item.unit == "bytes":
            sizes[one.probe] += one.item.amount
            counts[one.probe] += 1
        else:
            counts[one.probe] += 1
    texts = []
    for probe, number in sorted(counts.items()):
        texts.append(f"+{human_bytes(sizes[probe])} {probe}" if sizes[probe] else f"+{number} {probe}")
    return tuple(texts + sorted(states))
