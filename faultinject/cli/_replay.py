"""``faultinject replay``: one case again, with its timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

from faultinject.cli import _completion
from faultinject.cli._options import MatricesOption, make_options, takes_sweep_options, with_matrices
from faultinject.cli._state import recalled
from faultinject.errors import UsageError

if TYPE_CHECKING:
    from faultinject.sweep import Options


_OF_MANY: Final = (
    "phases", "module", "exclude_module", "name", "exclude_name", "stack_has", "stack_lacks", "sample",
    "seed", "confirm", "repeats", "jobs",
)  # fmt: skip
"""Options of a sweep that choose among its cases, or say how often or how many at a time they run."""


@takes_sweep_options(without=_OF_MANY)
def replay(
    identifier: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            autocompletion=_completion.cases,
            help="Id of a case, as a report prints it.",
        ),
    ],
    *,
    target: Annotated[
        str, typer.Option(help="Target of the sweep that named it; the last sweep's if empty.")
    ] = "",
    matrices: MatricesOption = None,
    **given: Any,
) -> None:
    """Run one case verbosely, with its timeline: acquired, fault, released, left.

    Without --target, the options are those of the last sweep in this directory.

    Exit status: 0 nothing charged to the target, 1 a violation, 2 there is no such case.

    Examples:

      faultinject replay 645c16f2

      faultinject replay 645c16f2 --target mypackage.client:Client --release close
    """
    from faultinject.cli._tables import words_of
    from faultinject.points import find_case
    from faultinject.reports import make_console, render_timeline
    from faultinject.sweep import replay as run

    if target:
        options = with_matrices(make_options(target, **given), matrices)
    elif matrices is not None or words_of(given):
        raise UsageError("the options of `replay` belong to --target: give that too, or none of them")
    else:
        options = recalled()
    if options.level == "milestones":
        _replay_tree(options, identifier)
    seen, result, _ = run(options, lambda cases: find_case(options.target.name, cases, identifier))
    console = make_console()
    console.print(render_timeline(seen, result))
    if seen.output.strip():
        console.print("\nwhat its process wrote:", highlight=False)
        console.print(seen.output.strip(), markup=False, highlight=False)
    raise typer.Exit(1 if result.violation else 0)


def _replay_tree(options: Options, identifier: str) -> NoReturn:
    from faultinject.points import find_case
    from faultinject.reports import make_console
    from faultinject.trees import render_case, replay_tree

    seen, result, _ = replay_tree(options, lambda cases: find_case(options.target.name, cases, identifier))
    console = make_console()
    console.print(render_case(seen, result))
    if seen.output.strip():
        console.print("\nwhat the processes wrote:", highlight=False)
        console.print(seen.output.strip(), markup=False, highlight=False)
    raise typer.Exit(1 if result.violation else 0)
