from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import typer.main

from faultinject.cli import app
from faultinject.cli._options import make_options
from faultinject.cli._tables import keywords_of_table, options_of_table, words_of
from faultinject.errors import UsageError

WHOLE = {
    "level": "sites",
    "fault": ["RuntimeError", "OSError:EMFILE"],
    "phases": "before",
    "exclude-module": ["json", "logging.*"],
    "name": "open",
    "second": True,
    "repeats": 2,
    "settle": 1,
}


def test_every_option_of_a_sweep_is_a_key() -> None:
    parameters = [
        name for name in inspect.signature(make_options).parameters if name not in ("target", "directory")
    ]
    for name in parameters:
        with pytest.raises(UsageError, match="expected"):
            keywords_of_table({name.replace("_", "-"): {"no": "value"}}, "here")


def test_a_table_is_the_sweep_that_the_command_line_would_be(tmp_path: Path) -> None:
    options = options_of_table("m:C", WHOLE, "here", tmp_path)
    assert options == make_options(
        "m:C", level="sites", fault="RuntimeError,OSError:EMFILE", phases="before",
        exclude_module=["json", "logging.*"], name=["open"], second=True, repeats=2, settle=1.0,
        directory=tmp_path,
    )  # fmt: skip


def test_the_words_of_a_command_line_give_the_same_again() -> None:
    given = keywords_of_table(WHOLE, "here")
    command = typer.main.get_command(app).commands["sweep"]  # type: ignore[attr-defined]
    context = command.make_context("sweep", ["m:C", *words_of(given)])
    read = {
        name: context.params[name] for name in inspect.signature(make_options).parameters if name != "target"
    }
    assert make_options("m:C", **read) == make_options("m:C", **given)


def test_defaults_need_no_words() -> None:
    assert words_of({"level": "", "module": [], "second": False}) == ()


def test_what_the_options_refuse_is_told_with_its_place() -> None:
    with pytest.raises(UsageError, match="here: unknown level 'stips'"):
        options_of_table("m:C", {"level": "stips"}, "here", Path())
