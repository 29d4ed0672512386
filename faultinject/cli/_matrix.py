"""``faultinject matrix``: the lifecycle matrix of a target, written to a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from faultinject.cli._options import (
    NONE,
    DirectoryOption,
    FaultOption,
    JobsOption,
    LevelOption,
    OwnOption,
    ReleaseOption,
    SecondOption,
    TargetArgument,
    make_options,
)
from faultinject.errors import UsageError


def matrix(
    target: TargetArgument,
    release: ReleaseOption = "",
    own: OwnOption = NONE,
    level: LevelOption = "",
    fault: FaultOption = "RuntimeError,KeyboardInterrupt",
    directory: DirectoryOption = Path(),
    matrices: Annotated[Path, typer.Option(help="Folder the matrix is kept in.")] = Path("matrices"),
    sweep_it: Annotated[
        bool, typer.Option("--sweep/--no-sweep", help="Also sweep, and write the verdicts.")
    ] = True,
    second: SecondOption = False,
    jobs: JobsOption = 0,
) -> None:
    """Write the generated lifecycle matrix of TARGET to a TOML file, and say what changed in it.

    Examples:

      faultinject matrix mypackage.client:Client --release close

      faultinject matrix vllm:EngineCore --matrices matrices --no-sweep
    """
    import msgspec

    from faultinject._reading import check_inside
    from faultinject.matrix import matrix_path, update_matrix
    from faultinject.reports import make_console, reporters_for
    from faultinject.sweep import discover as record
    from faultinject.sweep import pool_of, sweep_class

    options = make_options(
        target, release=release, own=own, level=level, fault=fault, second=second, directory=directory,
        jobs=jobs,
    )  # fmt: skip
    if options.level == "milestones" and not sweep_it:
        raise UsageError(
            "a tree of processes owns nothing step by step: sweep it, or use `faultinject discover`"
        )
    results = None
    if sweep_it:
        reporters = reporters_for(quiet=True)
        path = matrix_path(matrices, target)
        if path.exists():
            options = msgspec.structs.replace(options, matrices=str(matrices))
        work = sweep_class(options)(options, reporters)
        try:
            work.run()
        finally:
            reporters.close()
        assert work.recording is not None
        recording, version, results = work.recording, work.version, list(work.results.values())
    else:
        with pool_of(options, 2) as pool:
            recording, _ = record(options, pool)
            version = pool.ready.version
    path = check_inside(matrix_path(matrices, target), matrices, "matrix")
    before = path.read_bytes() if path.exists() else b""
    changes = update_matrix(
        path, recording, results, version=version,
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        command=f"faultinject matrix {target}",
    )  # fmt: skip
    console = make_console()
    for change in changes:
        console.print(change, markup=False, highlight=False)
    what = f"wrote {path}" if path.read_bytes() != before else f"nothing changed in {path}"
    console.print(what, markup=False, highlight=False)
