"""The options of a sweep as keys of a table, and as words of a command line."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from faultinject._near import near
from faultinject.cli._options import make_options
from faultinject.errors import FaultinjectError, UsageError

if TYPE_CHECKING:
    from faultinject.sweep import Options

_NOT_KEYS = ("target", "directory")


def keywords_of_table(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """What `make_options` is to be called with for the keys of a table.

    A key is the name of an option without its dashes. An option that takes a comma-separated list may be a
    list, as one that may be given several times.

    Raises:
        UsageError: a key is no option, or its value is none for it.
    """
    import msgspec

    hints = get_type_hints(make_options, localns={"Options": Any}, include_extras=True)
    names = {n.replace("_", "-"): n for n in inspect.signature(make_options).parameters if n not in _NOT_KEYS}
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key not in names:
            raise UsageError(
                f"{where}: unknown key {key!r}{near(key, names)}; it may hold {', '.join(names)}"
            )
        wanted, option = get_args(hints[names[key]])[:2]
        if wanted is str and isinstance(value, list) and all(isinstance(one, str) for one in value):
            value = ",".join(value)
        elif wanted == list[str] and isinstance(value, str):
            value = [value]
        try:
            found[names[key]] = msgspec.convert(value, wanted)
        except msgspec.ValidationError as error:
            text = str(error)
            raise UsageError(f"{where}: {key}: {text[:1].lower()}{text[1:]}") from None
        least, most = option.min, option.max
        if least is not None and not least <= value <= most:
            raise UsageError(f"{where}: {key}: {value} is not between {least} and {most}")
    return found


def options_of_table(target: str, table: Mapping[str, Any], where: str, directory: Path) -> Options:
    """The sweep that a table asks for.

    Raises:
        UsageError: as of `keywords_of_table` and `make_options`, with the place.
    """
    keywords = keywords_of_table(table, where)
    try:
        return make_options(target, directory=directory, **keywords)
    except FaultinjectError as error:
        raise UsageError(f"{where}: {error}") from None


def words_of(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The words of a command line that give `make_options` these arguments; defaults are left out."""
    words: list[str] = []
    for name, parameter in inspect.signature(make_options).parameters.items():
        value = given.get(name, parameter.default)
        if name == "target" or value == parameter.default:
            continue
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(flag)
        else:
            for one in value if isinstance(value, list) else [value]:
                words += [flag, str(one)]
    return tuple(words)
