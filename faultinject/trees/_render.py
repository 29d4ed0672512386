"""Trees of processes on a screen."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from faultinject.facts import CaseResult, Recording
from faultinject.points import describe_point
from faultinject.reports._screen import plain, safe
from faultinject.reports._tables import bullets, heading, new_table
from faultinject.reports._words import LONG, clock, counted
from faultinject.trees._messages import TreeObservation


def render_milestones(recording: Recording, seen: TreeObservation) -> RenderableType:
    """The processes and the milestones of an unharmed run, for ``faultinject discover``."""
    head = (
        f"{recording.target}: {counted(sum(not p.helper for p in seen.processes), 'process')}, "
        f"{counted(len(recording.points), 'milestone')} ({clock(recording.seconds)})"
    )
    table = new_table()
    table.add_column("after", justify="right", no_wrap=True)
    table.add_column("process", overflow="fold")
    table.add_column("milestone", overflow="fold")
    for one in seen.milestones:
        table.add_row(f"{one.at:.2f} s", safe(one.role), safe(one.name))
    processes = new_table()
    for column in ("process", "pid", "started by", "name", "exit"):
        processes.add_column(column, overflow="fold")
    for process in seen.processes:
        processes.add_row(
            safe(process.role or "(not reached)"),
            str(process.pid),
            safe(process.parent or "-"),
            safe(process.name or "-"),
            "-" if process.status is None else str(process.status),
        )
    parts: list[RenderableType] = [Text(plain(head), style="bold"), Text(""), table]
    parts += [heading("Processes"), processes]
    if recording.notes:
        parts += [heading("Notes"), bullets(recording.notes)]
    return Group(*parts)


def render_case(seen: TreeObservation, result: CaseResult) -> RenderableType:
    """What happened in one case, in order, for ``faultinject replay``."""
    title = f"case {result.id}: {describe_point(result.point)}, {result.fault}"
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for seconds, text in seen.timeline:
        table.add_row(f"{seconds:.3f} s", safe(text))
    left = [
        f"{s.role} (pid {s.pid}), state {s.state}, {s.age:.1f} s old: {s.command}"
        + (f"; holds {', '.join(s.holds)}" if s.holds else "")
        for s in seen.survivors
    ]
    left += [f"/dev/shm/{name}, {size:,} bytes" for name, size, _ in seen.shared]
    left += list(seen.files)
    raised = [f"{kind}: {text}" for kind, text in seen.raised]
    verdict = [f"{result.verdict}: {LONG[result.verdict]}" if result.verdict in LONG else result.verdict]
    verdict += [f"{p.verdict}, charged to {p.charged_to or 'nobody'}: {p.what}" for p in result.problems]
    parts: list[RenderableType] = [Text(plain(title), style="bold"), heading("Timeline"), table]
    for name, lines in (
        ("What the caller got", raised or (["what it asked for"] if seen.returned else ["nothing"])),
        ("Left", left or ["nothing"]),
        ("Verdict", [*verdict, *result.notes]),
    ):
        parts += [heading(name), bullets(lines)]
    return Group(*parts)
