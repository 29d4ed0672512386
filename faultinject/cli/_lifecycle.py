"""``faultinject lifecycle``: the lifecycle matrices of several versions, as one page."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer


def lifecycle(
    files: Annotated[
        list[Path], typer.Argument(metavar="MATRIX...", help="Lifecycle matrices, one of each version.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the page here, not on the screen.")
    ] = None,
) -> None:
    """Put the lifecycle matrices of several versions on one Markdown page: version, call, verdict.

    Matrices of several targets make a section each. Nothing is run.

    Exit status: 0 the page was made, 2 something is wrong with a matrix or the request.

    Example: faultinject lifecycle matrices/1.0/app.toml matrices/2.0/app.toml --output docs/lifecycle.md
    """
    from faultinject.matrix import read_matrix
    from faultinject.reports import check_writable, render_lifecycle, write_whole

    check_writable(output)
    words = ["faultinject", "lifecycle", *map(str, files), *(["--output", str(output)] if output else [])]
    page = render_lifecycle([read_matrix(path) for path in files], shlex.join(words))
    if output is None:
        typer.echo(page, nl=False)
    else:
        write_whole(output, page.encode(), "page")
        typer.echo(f"wrote {output}")
