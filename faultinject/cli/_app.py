"""The application that the commands belong to."""

from __future__ import annotations

import typer

app = typer.Typer(
    name="faultinject",
    help="Makes a constructor fail at every place where it can, and judges whether it gave back what it "
    "owned.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
