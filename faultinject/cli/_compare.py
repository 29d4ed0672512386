"""``faultinject compare``: two targets, swept alike, side by side."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from faultinject.cli._options import (
    ExitZeroOption,
    QuietOption,
    VerboseOption,
    check_loudness,
    make_options,
    takes_sweep_options,
)
from faultinject.cli._state import remember

if TYPE_CHECKING:
    from faultinject.sweep import Options


@takes_sweep_options()
def compare(
    target_a: Annotated[
        str, typer.Argument(metavar="TARGET_A", help="What is compared with; see `faultinject sweep --help`.")
    ],
    target_b: Annotated[str, typer.Argument(metavar="TARGET_B", help="What is meant to be better.")],
    *,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write both reports here, as one document.")
    ] = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    exit_zero: ExitZeroOption = False,
    **given: Any,
) -> None:
    """Sweep two targets with the same options and print their matrices side by side.

    Exit status:
      0  nothing charged to TARGET_B
      1  TARGET_B has a violation; those of TARGET_A do not count
      2  something is wrong with the request or a target
      130 or 143  interrupted

    Example: faultinject compare mypackage.client:Client mypackage.client:SafeClient --release close
    """
    from faultinject.reports import Side, make_console, print_comparison, write_comparison
    from faultinject.sweep import sweep_class

    check_loudness(quiet=quiet, verbose=verbose)
    both = [make_options(target, **given) for target in (target_a, target_b)]
    console = make_console()
    a, b = sides = [Side(console, options.target.name, quiet=quiet, verbose=verbose) for options in both]

    def begin(options: Options) -> None:
        remember(options)
        if json_file is not None:
            # A file that cannot be written is found before the first case, not after the last.
            write_comparison(json_file, a, b)

    try:
        for options, side in zip(both, sides, strict=True):
            work = sweep_class(options)(
                options,
                side,
                before_start=lambda *_, options=options: begin(options),
                command=tuple(sys.argv[1:]),
            )
            try:
                work.run()
            finally:
                side.close()
    finally:
        if json_file is not None and a.recording is not None:
            write_comparison(json_file, a, b)
    print_comparison(console, a, b, quiet=quiet)
    assert b.summary is not None
    raise typer.Exit(1 if b.summary.violations and not exit_zero else 0)
