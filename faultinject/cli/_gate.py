"""``faultinject gate``: the sweeps of a project, compared with their committed baselines."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from faultinject.cli._errors import tell
from faultinject.cli._options import MOST, NONE, DirectoryOption, JobsOption, ReportOption
from faultinject.cli._state import gate_record, remember
from faultinject.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from faultinject.gate import GateSweep, Grant, Made, Ran
    from faultinject.reports import Wanted


def gate(
    targets: Annotated[
        list[str] | None, typer.Argument(metavar="TARGET", help="Only these of the targets it names.")
    ] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Write the baselines anew, after a review of what changed.")
    ] = False,
    reason: Annotated[str, typer.Option(help="With --accept: why new violations may stay.")] = "",
    owner: Annotated[str, typer.Option(help="With --accept: who is to fix them.")] = "",
    expires: Annotated[str, typer.Option(help="With --accept: the last day they may stay, 2027-01-31.")] = "",
    budget: Annotated[
        str, typer.Option(help="Time for all sweeps, such as 5m; as long as it takes if empty.")
    ] = "",
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=MOST, help="Turn of the sample of --budget; that of the run if empty."),
    ] = None,
    level: Annotated[str, typer.Option(help="Only the sweeps of this level.")] = "",
    report: ReportOption = NONE,
    jobs: JobsOption = 0,
    directory: DirectoryOption = Path(),
    self_test: Annotated[
        bool, typer.Option("--self-test", help="Make the gate fail once in each direction, and say so.")
    ] = False,
) -> None:
    """Run the sweeps that pyproject.toml names, and print what is not as in their baselines.

    Exit status:
      0  nothing new
      1  a violation that is new, fixed and still listed, or expired
      2  something is wrong with the request, a target or a baseline
      3  a target's fault points or ownership changed: review, then --accept
      130 or 143  interrupted

    Examples:

      faultinject gate

      faultinject gate --budget 5m --report junit:faults.xml --report github

      faultinject gate --accept --reason "the pool waits" --owner ops --expires 2027-01-31
    """
    from faultinject.gate import (
        Broken,
        parse_duration,
        parse_grant,
        print_end,
        print_sweep,
        run_gate,
        status_of,
    )
    from faultinject.reports import make_console, parse_report

    today = datetime.date.today()
    grant = parse_grant(reason, owner, expires, today)
    if grant is not None and not accept:
        raise UsageError("--reason, --owner and --expires belong to --accept: give that too")
    wanted = [parse_report(text) for text in report]
    seconds = parse_duration(budget) if budget else 0.0
    sweeps = _sweeps(directory, targets or [], level, jobs)
    console = make_console()
    if self_test:
        raise typer.Exit(_self_test(sweeps[0], today, console))
    _check(wanted)
    everything: list[Made] = []
    to_replay = False
    try:
        watch = _watch(console)
        for made in run_gate(
            sweeps, watch=watch, today=today, budget=seconds, seed=seed, command=tuple(sys.argv[1:])
        ):
            if isinstance(made, Broken):
                everything.append(made)
                tell(made.error)
                continue
            ran = _accepted(made, grant, today, console) if accept else made
            everything.append(ran)
            print_sweep(console, ran, today)
            # `replay` without a target takes the sweep that there is something to replay of.
            if ran.outcome.new or not to_replay:
                remember(ran.sweep.options)
            to_replay = to_replay or bool(ran.outcome.new)
    finally:
        if everything:
            _write(wanted, everything)
    print_end(console, everything)
    raise typer.Exit(status_of(everything))


def _sweeps(directory: Path, targets: list[str], level: str, jobs: int) -> list[GateSweep]:
    from faultinject._near import near
    from faultinject.cli._tables import options_of_table
    from faultinject.gate import GateSweep, read_settings
    from faultinject.points import parse_level

    settings = read_settings(directory)
    names = {row.target for row in settings.rows}
    for target in targets:
        if target not in names:
            there = ", ".join(sorted(names))
            raise UsageError(f"the gate names no target {target!r}{near(target, names)}; it names {there}")
    found: list[GateSweep] = []
    for row in settings.rows:
        if targets and row.target not in targets:
            continue
        keys = {**row.keys, "jobs": jobs} if jobs else row.keys
        options = options_of_table(row.target, keys, row.where, settings.directory)
        one = GateSweep(options, settings.matrices)
        if one.baseline in {other.baseline for other in found}:
            raise UsageError(
                f"{row.where}: {one.name} is named twice, and has one baseline: give each sweep of a target "
                "a level of its own, or a table of its own"
            )
        found.append(one._replace(record=gate_record(one.baseline)))
    if level:
        parse_level(level)
        chosen = [one for one in found if one.options.level == level]
        if not chosen:
            there = ", ".join(sorted({one.options.level for one in found}))
            raise UsageError(f"the gate has no sweep at level {level}; it has {there}")
        return chosen
    return found


def _watch(console: Console) -> Any:
    from faultinject.gate import Watch

    return lambda sweep: Watch(console, sweep)


def _accepted(ran: Ran, grant: Grant | None, today: datetime.date, console: Console) -> Ran:
    """The same sweep, compared with the baseline that it makes."""
    from faultinject.gate import accept, read_baseline, shown, write_baseline
    from faultinject.reports import safe

    path = ran.sweep.baseline
    before = path.read_bytes() if path.exists() else b""
    write_baseline(path, accept(ran, grant, today))
    what = "nothing changed in" if path.read_bytes() == before else "wrote"
    console.print(safe(f"{what} {shown(path)}"), soft_wrap=True)
    one = ran.compared(read_baseline(path), today)
    if one.outcome.new:
        text = "a new violation is accepted only with --reason, --owner and --expires"
        console.print(safe(f"{ran.sweep.name}: {text}", "yellow"), soft_wrap=True)
    return one


def _check(wanted: list[Wanted]) -> None:
    from faultinject.reports import check_writable

    for one in wanted:
        check_writable(one.path)


def _write(wanted: list[Wanted], everything: list[Made]) -> None:
    from faultinject.gate import suite_of, write_document
    from faultinject.reports import write_suites

    for one in wanted:
        if one.format == "json":
            assert one.path is not None
            write_document(one.path, everything)
        else:
            write_suites(one, [suite_of(made) for made in everything])


def _self_test(sweep: GateSweep, today: datetime.date, console: Console) -> int:
    from faultinject.gate import self_test
    from faultinject.reports import safe

    failed = 0
    for check in self_test(sweep.options, today, _watch(console)):
        right = check.got == check.wanted
        failed += not right
        verdict = "as it must" if right else f"but it must be {check.wanted}"
        console.print(safe(f"{check.what}: status {check.got}, {verdict}", "" if right else "bold red"))
    if failed:
        console.print(safe("The gate does not fail where it must: do not rely on it here.", "bold red"))
        return 1
    console.print(safe("The gate fails in each direction, and passes where nothing is wrong.", "bold green"))
    return 0
