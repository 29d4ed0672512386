"""``faultinject discover``: the ownership table that a run of the target shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from faultinject.cli._options import (
    NONE,
    DirectoryOption,
    LevelOption,
    OwnOption,
    ReleaseOption,
    TargetArgument,
    make_options,
)

if TYPE_CHECKING:
    from faultinject.sweep import Options


def discover(
    target: TargetArgument,
    release: ReleaseOption = "",
    own: OwnOption = NONE,
    level: LevelOption = "",
    directory: DirectoryOption = Path(),
    points: Annotated[
        bool, typer.Option("--points", help="Also list the fault points of the level.")
    ] = False,
) -> None:
    """Run TARGET unharmed and print the ownership table that was found.

    Examples:

      faultinject discover mypackage.client:Client --release close

      faultinject discover vllm:EngineCore --level sites --points
    """
    from faultinject.points import describe_point
    from faultinject.reports import make_console, render_discovery
    from faultinject.sweep import discover as record
    from faultinject.sweep import pool_of

    options = make_options(target, release=release, own=own, level=level, directory=directory)
    if options.level == "milestones":
        _discover_tree(options)
        return
    with pool_of(options, 2) as pool:
        recording, _ = record(options, pool)
    console = make_console()
    console.print(render_discovery(recording))
    if points:
        for point in recording.points:
            console.print(describe_point(point), markup=False, highlight=False)


def _discover_tree(options: Options) -> None:
    from faultinject.reports import make_console
    from faultinject.trees import TreePool, discover_tree, render_milestones

    with TreePool(options.target, fresh=options.runner == "spawn") as pool:
        recording, seen = discover_tree(options, pool)
    make_console().print(render_milestones(recording, seen))
