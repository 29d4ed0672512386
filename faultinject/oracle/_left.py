"""What was not given back: resources the probes see, objects with a release method, process-wide state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from faultinject._amounts import human_bytes
from faultinject.facts import Grade, Left, Observation, Owned, Problem, Recording

_GRADES: tuple[Grade, ...] = ("before", "dropped", "collected", "exit", "never")
_GRADE_TEXT: dict[str, str] = {
    "dropped": "given back only when the exception was dropped",
    "collected": "given back only by a collection",
    "exit": "not given back before the process ended",
    "never": "never given back",
}


def judge_left(seen: Observation, recording: Recording, target: str) -> list[Problem]:
    """Leaks (never, or only at exit) and late releases (by finalization), by the frame in charge."""
    problems: list[Problem] = []
    groups: dict[tuple[str, bool, bool], list[Left]] = {}
    for one in _with_releases(seen, recording):
        late = one.grade in ("dropped", "collected")
        groups.setdefault((one.charged_to or target, one.nested, late), []).append(one)
    for (frame, nested, late), items in groups.items():
        rows = _rows(recording, items, nested)
        worst = max((i.grade for i in items), key=_GRADES.index)
        problems.append(
            Problem(
                "late" if late else "leak",
                frame,
                not nested,
                f"{amounts_text(items)}: {_GRADE_TEXT[worst]}",
                tuple(rows),
                worst,
            )
        )
    return problems


def _with_releases(seen: Observation, recording: Recording) -> list[Left]:
    """Charge what an object kept although it was told to release to that object's own layer."""
    told = {r.name: r.method for r in seen.releases[: seen.prompt_releases] if r.owned}
    rows = {row.step: row for row in recording.owned if row.name in told}
    left: list[Left] = []
    for one in seen.left:
        row = rows.get(one.step) if not one.nested else None
        if row is not None:
            layer = row.callee.removesuffix(".__init__")
            one = msgspec.structs.replace(one, charged_to=f"{layer}.{told[row.name]}", nested=True)
        left.append(one)
    return left


def judge_objects(seen: Observation, recording: Recording, target: str) -> list[Problem]:
    """Owned objects whose release nobody called.

    An object that came with resources of its own is judged by those: where they are gone, it was given
    back, however. One that holds nothing a probe can see is judged by its release being called.
    """
    prompt = {r.name for r in seen.releases[: seen.prompt_releases] if r.owned}
    later = {r.name for r in seen.releases[seen.prompt_releases :] if r.owned}
    rows = {row.name: row for row in recording.owned}
    received = dict(zip(seen.owned, seen.owned_by, strict=False))
    left_steps = {one.step for one in seen.left if not one.nested}
    problems: list[Problem] = []
    for name in seen.owned:
        row = rows.get(name)
        if row is None or name in prompt or (row.amounts and row.step not in left_steps):
            continue
        frame = received.get(name) or target
        if name in later:
            problems.append(
                Problem(
                    "late",
                    frame,
                    True,
                    f"{name}: {row.release}() called only by a finalizer",
                    (name,),
                    "dropped",
                )
            )
        else:
            problems.append(
                Problem("leak", frame, True, f"{name}: {row.release}() never called", (name,), "never")
            )
    return problems


def judge_state(seen: Observation, target: str) -> list[Problem]:
    """Process-wide state that is not as before."""
    groups: dict[tuple[str, bool], list[str]] = {}
    names: dict[tuple[str, bool], list[str]] = {}
    worst: dict[tuple[str, bool], Grade] = {}
    for change in seen.state:
        key = (change.charged_to or target, change.nested)
        groups.setdefault(key, []).append(
            f"{change.label}: {_short(change.before)} -> {_short(change.after)}"
        )
        names.setdefault(key, []).append("GC freeze" if change.key == "freeze_count" else change.probe)
        worst[key] = max(worst.get(key, "before"), change.grade, key=_GRADES.index)
    return [
        Problem(
            "state",
            frame,
            not nested,
            "; ".join(texts[:4]),
            tuple(dict.fromkeys(names[frame, nested])),
            worst[frame, nested],
        )
        for (frame, nested), texts in groups.items()
    ]


def names_of(seen: Observation, recording: Recording) -> tuple[str, ...]:
    """What was left, as a reader wants it: owned things by name with their amounts, the rest by probe."""
    rows = {row.step: row for row in recording.owned}
    by_name: dict[str, list[Left]] = {}
    for one in seen.left:
        row = rows.get(one.step)
        name = row.name if row is not None and not one.nested else one.probe
        by_name.setdefault(name, []).append(one)
    texts = [
        f"{name} ({amounts_text(items)})" if name != items[0].probe else amounts_text(items)
        for name, items in by_name.items()
    ]
    prompt = {r.name for r in seen.releases[: seen.prompt_releases] if r.owned}
    if not seen.returned and seen.stage not in ("started", "armed", "fault"):
        texts += [
            name
            for name in seen.owned
            if name not in prompt and name not in by_name and _plain(name, recording)
        ]
    texts += [f"{c.label}: {_short(c.before)} -> {_short(c.after)}" for c in seen.state[:4]]
    return tuple(texts)


def _plain(name: str, recording: Recording) -> bool:
    return any(row.name == name and not row.amounts for row in recording.owned)


def amounts_text(items: Sequence[Left]) -> str:
    """``+52 fds, +480 MiB shared memory (fd 7 -> ..., ...)``."""
    counts: Counter[str] = Counter(i.probe for i in items)
    sizes: Counter[str] = Counter()
    for item in items:
        if item.item.unit == "bytes":
            sizes[item.probe] += item.item.amount
    parts = [f"+{human_bytes(sizes[p])} {p}" if sizes[p] else f"+{n} {p}" for p, n in sorted(counts.items())]
    if len(items) <= 3:
        return f"{', '.join(parts)}: {', '.join(i.item.label for i in items)}"
    return ", ".join(parts)


def _rows(recording: Recording, items: Sequence[Left], nested: bool) -> list[str]:
    rows: dict[int, Owned] = {row.step: row for row in recording.owned}
    names: dict[str, None] = {}
    for item in items:
        row = rows.get(item.step)
        names[row.name if row is not None and not nested else item.probe] = None
    return list(names)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
