"""The application that the commands belong to."""

from __future__ import annotations

import platform
from typing import Annotated

import typer

import faultinject

app = typer.Typer(
    name="faultinject",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"faultinject {faultinject.__version__} (Python {platform.python_version()})")
        raise typer.Exit


@app.callback()
def faultinject_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Makes a constructor fail at every place where it can, and judges whether it gave back what it owned."""
