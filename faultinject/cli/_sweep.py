"""``faultinject sweep``: every point of one target."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from faultinject.cli._options import (
    NONE,
    ExitZeroOption,
    MatricesOption,
    QuietOption,
    ReportOption,
    TargetArgument,
    VerboseOption,
    check_loudness,
    make_options,
    takes_sweep_options,
    with_matrices,
)
from faultinject.cli._state import last_report, remember

if TYPE_CHECKING:
    from faultinject.facts import Recording, Summary
    from faultinject.sweep import Options


@takes_sweep_options()
def sweep(
    target: TargetArgument,
    *,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the report here, as cases end.")
    ] = None,
    report: ReportOption = NONE,
    resume: Annotated[
        Path | None, typer.Option(help="Go on from this report; it is continued in place.")
    ] = None,
    matrices: MatricesOption = None,
    all_nested: Annotated[
        bool, typer.Option("--all-nested", help="List every finding beneath the target.")
    ] = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    exit_zero: ExitZeroOption = False,
    **given: Any,
) -> None:
    """Inject faults at every point of TARGET and judge what each left behind.

    Exit status:
      0  nothing charged to the target
      1  a violation
      2  something is wrong with the request or the target
      130 or 143  interrupted

    Examples:

      faultinject sweep mypackage.client:Client --release close

      faultinject sweep mypackage.client:Client --level sites --module mypackage --report html:report.html

      faultinject sweep pool --fault MemoryError,OSError:EMFILE,SIGTERM --json report.json --quiet
    """
    check_loudness(quiet=quiet, verbose=verbose)
    summary = run_sweep(
        with_matrices(make_options(target, **given), matrices),
        json_file or resume,
        reports=report,
        resume=resume,
        all_nested=all_nested,
        quiet=quiet,
        verbose=verbose,
    )
    raise typer.Exit(1 if summary.violations and not exit_zero else 0)


def run_sweep(
    options: Options, json_path: Path | None, *, reports: Sequence[str] = (), resume: Path | None = None,
    all_nested: bool = False, quiet: bool = False, verbose: bool = False,
) -> Summary:  # fmt: skip
    """Sweep with the reports that were asked for; always also writes the report that `replay` reads."""
    from faultinject.reports import check_resumable, parse_report, read_report, reporters_for
    from faultinject.sweep import sweep_class

    wanted = [parse_report(text) for text in reports]
    earlier = read_report(resume) if resume is not None else None
    cases = tuple(earlier.cases) if earlier is not None else ()
    kept = json_path if json_path is not None else last_report()
    reporters = reporters_for(
        json_path=kept, wanted=wanted, earlier=cases, quiet=quiet, verbose=verbose, all_nested=all_nested
    )

    def before_start(recording: Recording, environment: Any) -> None:
        if earlier is not None:
            check_resumable(earlier, recording, environment)
        remember(options)

    try:
        return sweep_class(options)(
            options,
            reporters,
            skip=cases,
            before_start=before_start,
            command=tuple(sys.argv[1:]),
        ).run()
    finally:
        reporters.close()
