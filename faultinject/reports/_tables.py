"""What came to life where: the output of ``discover`` and ``replay``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from faultinject.facts import CaseResult, Observation, Owned, Recording, Step
from faultinject.matrix import owned_at, release_order
from faultinject.points import describe_fault, describe_point, short_name
from faultinject.reports._names import name_text
from faultinject.reports._screen import plain, safe
from faultinject.reports._words import GRADES, OBJECT, amounts_of, clock, counted, some, what_of


def new_table() -> Table:
    """A table without a frame: a line under the head, two blanks between columns."""
    return Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold"
    )


def heading(text: str) -> Text:
    """The title of a section, after an empty line."""
    return Text("\n" + plain(text), style="bold")


def bullets(lines: Sequence[str]) -> RenderableType:
    """One dash a line."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for line in lines:
        table.add_row("-", safe(line))
    return table


def pairs(rows: Sequence[tuple[str, str]], *, indent: int = 3) -> RenderableType:
    """A word and what it stands for, line by line; those that stand for nothing are left out."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=indent - 2 if indent > 2 else 0)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for word, text in rows:
        if text:
            table.add_row("", word, safe(text))
    return table


def ownership_table(owned: Sequence[Owned]) -> RenderableType:
    """What the target owns, in the order in which it must go."""
    if not owned:
        return Text("nothing that outlives the call that made it")
    table = new_table()
    table.add_column("owned", overflow="fold")
    table.add_column("from step", overflow="fold")
    table.add_column("held by", overflow="fold")
    table.add_column("released by", overflow="fold")
    for row in release_order(owned):
        step = f"{row.step} {short_name(row.callee)}"
        name = f"{row.name} (declared)" if row.source == "declared" else row.name
        table.add_row(*map(name_text, (name, step, row.holder or "-", _released_by(row))))
    return table


def render_discovery(recording: Recording) -> RenderableType:
    """The ownership table of a recording, step by step, for ``faultinject discover``.

    Returns:
        Something to `print` on a console made by `make_console`.
    """
    runs = f"{counted(recording.runs, 'run')}" + (", no two agree" if recording.unstable else "")
    phases = counted(len(recording.points), "fault point")
    head = (
        f"{recording.target}: {counted(len(recording.steps), 'step')}, {phases} at level {recording.level} "
        f"({runs}, {clock(recording.seconds)})"
    )
    parts: list[RenderableType] = [Text(plain(head), style="bold"), Text("")]
    parts.append(_steps(recording) if recording.steps else Text("The target makes no call of its own."))
    parts += [heading("Owned by the target, first to be released first"), ownership_table(recording.owned)]
    if recording.release:
        parts.append(safe(f"The finished target is given back by {recording.release}."))
    notes = _notes(recording)
    if notes:
        parts += [heading("Notes"), bullets(notes)]
    return Group(*parts)


def _steps(recording: Recording) -> RenderableType:
    table = new_table()
    table.add_column("step", justify="right", no_wrap=True)
    table.add_column("line", justify="right", no_wrap=True)
    table.add_column("call", overflow="fold", ratio=2)
    table.add_column("came to life", overflow="fold", ratio=3)
    owned: dict[int, list[Owned]] = {}
    for row in recording.owned:
        owned.setdefault(row.step, []).append(row)
    for step in sorted(recording.steps, key=lambda s: s.number):
        lines = _came(step, owned.get(step.number, []))
        line = str(step.line) if step.line else "-"
        table.add_row(
            str(step.number), line, name_text(short_name(step.callee)), Text("\n".join(map(plain, lines)))
        )
    return table


def _came(step: Step, owned: Sequence[Owned]) -> list[str]:
    # The ownership table already says what belongs to what; the raw acquisitions speak where it is silent.
    amounts = tuple(dict.fromkeys(chain.from_iterable(row.amounts for row in owned)))
    amounts = amounts or amounts_of(step.acquired)
    lines = [", ".join(amounts)] if amounts else []
    if not owned:
        lines += [
            f"{a.item.label}, held by {a.holder or '-'}, released by {a.release or '-'}"
            for a in step.acquired
            if a.probe == OBJECT
        ]
    for row in owned:
        held = f", held by {row.holder}" if row.holder else ""
        lines.append(f"{row.name}{held}, released by {_released_by(row)}")
    if step.released:
        lines.append(f"{counted(len(step.released), 'thing')} ended")
    return lines


def _released_by(row: Owned) -> str:
    return row.release or "nothing known"


def _notes(recording: Recording) -> list[str]:
    notes = list(recording.notes)
    notes += [f"differs from run to run: {what}" for what in recording.unstable]
    notes += [
        f"stays once per process, even after the normal release: {count} {probe} ({group})"
        for probe, group, count in recording.residue
    ]
    notes += [
        f"stays after each normal release: {count} {probe} ({group})"
        for probe, group, count in recording.unreleased
    ]
    if recording.capped:
        notes.append(
            f"{counted(recording.capped, 'call')} beyond the cap of level {recording.level} left out"
        )
    return notes


def render_timeline(observation: Observation, result: CaseResult) -> RenderableType:
    """What happened in one case, in order, for ``faultinject replay``.

    Returns:
        Something to `print` on a console made by `make_console`.
    """
    parts: list[RenderableType] = [
        Text(
            plain(
                f"case {result.id}: {describe_point(result.point)}, "
                f"{describe_fault(result.fault, result.second)}"
            ),
            style="bold",
        ),
        pairs([("runner", observation.runner), ("owned", some(result.owned, 20))], indent=2),
    ]
    if observation.timeline:
        parts.append(heading("Timeline"))
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(justify="right", no_wrap=True)
        table.add_column(overflow="fold")
        for seconds, text in sorted(observation.timeline, key=lambda event: event[0]):
            table.add_row(f"{seconds:.3f} s", safe(text))
        parts.append(table)
    for title, lines in (
        ("Acquired", [f"step {a.step}: {a.item.label} ({a.probe})" for a in observation.acquired]),
        ("Fault", _fault(observation)),
        ("Released", _releases(observation)),
        ("Left", _left(observation)),
    ):
        parts += [heading(title), bullets(lines or ["nothing"])]
    parts += [heading("Verdict"), bullets(_verdict(observation, result))]
    if observation.hang_stack:
        parts += [heading("Where it hung"), Text("\n".join(map(plain, observation.hang_stack.splitlines())))]
    return Group(*parts)


def _fault(seen: Observation) -> list[str]:
    if not seen.reached:
        return ["the point was not reached"]
    lines = [f"raised {seen.place}" if seen.place else "raised"]
    if seen.fault_stack:
        lines.append(f"beneath {' > '.join(map(short_name, seen.fault_stack))}")
    if seen.raised is not None:
        same = "the injected exception" if seen.raised.same_object else "another exception"
        lines.append(f"{same} left the target: {seen.raised.type}: {seen.raised.text}")
    if seen.handled_by:
        lines.append(f"handled by {short_name(seen.handled_by)}")
    if seen.returned:
        lacks = f", without {', '.join(seen.missing_attributes)}" if seen.missing_attributes else ""
        lines.append(f"the target returned{lacks}")
    return lines


def _releases(seen: Observation) -> list[str]:
    return [
        f"{call.name}.{call.method} by {short_name(call.by)}"
        + ("" if call.owned else ", not owned")
        + (", failed" if call.failed else "")
        for call in sorted(seen.releases, key=lambda call: call.sequence)
    ]


def _left(seen: Observation) -> list[str]:
    left = [
        f"{it.item.label} ({it.probe}), {GRADES[it.grade]}, charged to {short_name(it.charged_to)}"
        for it in seen.left
    ]
    return left + [f"{s.label}: {s.before} before, {s.after} after ({s.probe})" for s in seen.state]


def _verdict(seen: Observation, result: CaseResult) -> list[str]:
    whose = " (violation)" if result.violation else ""
    charged = f", charged to {short_name(result.charged_to)}" if result.charged_to else ""
    lines = [f"{result.verdict}{whose}{charged}"]
    lines += [
        f"{p.verdict}: {what_of(p)}" + ("" if p.violation else ", beneath the target")
        for p in result.problems
    ]
    lines += [f"probe {name} failed: {why}" for name, why in seen.probe_errors]
    if seen.retry:
        lines.append(f"second construction: {seen.retry}")
    return lines + list(result.notes)


def names_owned_at(recording: Recording, step: int) -> str:
    """The names owned at a step, in the order in which they must go; ``-`` for none."""
    return ", ".join(row.name for row in release_order(owned_at(recording.owned, step))) or "-"
