"""Named targets with arguments: ``[tool.faultinject.targets.NAME]`` of a pyproject.toml.

For example::

    [tool.faultinject.targets.pool]
    callable = "app.pool:Pool"
    args = [4]
    kwargs = { store = "@app.store:open_store" }
    release = "close"
    environment = { APP_MODE = "test" }
    own = ["app.base:Base.__init__"]

A string that starts with ``@`` stands for the result of calling that, made afresh before every
construction; ``@@`` stands for a plain ``@``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from faultinject._near import near
from faultinject._reading import convert, one_line, read_toml
from faultinject.errors import UsageError
from faultinject.targets import _callables
from faultinject.targets._target import Call, Target
from faultinject.trees._declared import Milestone


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One table, as written.

    Attributes:
        callable: ``module:callable``.
        args: positional arguments.
        kwargs: keyword arguments.
        release: how the result is given back; ``""`` to find it.
        environment: variables to set before anything is imported.
        ignore: globs ``probe:key`` of what is not this target's.
        screen: see `Target.screen`.
        own: globs ``module:qualname`` of frames that are the target's own, see `Target.own`.
        roles, milestones: see `Target`.
    """

    callable: str
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    release: str = ""
    environment: dict[str, str] = {}
    ignore: list[str] = []
    screen: bool = False
    own: list[str] = []
    roles: dict[str, str] = {}
    milestones: list[Milestone] = []


def from_table(
    name: str, directory: str, *, set_environment: Callable[[Mapping[str, str]], object]
) -> Target:
    """The target of the table called `name`.

    Args:
        name: the table's name.
        directory: where pyproject.toml is looked for, then in the directories above it.
        set_environment: told the table's variables before the callable is imported.
    """
    path = find_pyproject(directory)
    tables = read_tables(path) if path else {}
    if name not in tables:
        raise UsageError(_unknown(name, path, directory, tables))
    where = f"[tool.faultinject.targets.{name}] in {path}"
    table = _convert(tables[name], where)
    set_environment(table.environment)
    what = f"{where}: callable"
    found = _callables.find(table.callable, what)
    makers = _find_makers([table.args, table.kwargs], where)
    _callables.check_arguments(found, tuple(table.args), table.kwargs, what)

    def prepare() -> Call:
        args = tuple(_fill(a, makers) for a in table.args)
        kwargs = {k: _fill(v, makers) for k, v in table.kwargs.items()}
        return found.bind(), args, kwargs

    return Target(
        name=name,
        prepare=prepare,
        release=table.release,
        is_async=_callables.is_async(found.function),
        screen=table.screen,
        version=_callables.version_of(found.module),
        environment=table.environment,
        ignore=tuple(table.ignore),
        own=tuple(table.own),
        roles=table.roles,
        milestones=tuple(table.milestones),
    )


def find_pyproject(directory: str) -> Path | None:
    """The nearest pyproject.toml in `directory` or above it."""
    start = Path(directory)
    for folder in (start, *start.parents):
        if (folder / "pyproject.toml").is_file():
            return folder / "pyproject.toml"
    return None


def read_section(path: Path) -> dict[str, Any]:
    """What stands under ``[tool.faultinject]``, unchecked.

    Raises:
        UsageError: the file cannot be read, or it is no table.
    """
    tool = as_table(read_toml(path, "project file").get("tool", {}), "[tool]", path)
    return as_table(tool.get("faultinject", {}), "[tool.faultinject]", path)


def read_tables(path: Path) -> dict[str, Any]:
    """The tables under ``[tool.faultinject.targets]``, by name, unchecked. Raises as `read_section`."""
    return as_table(read_section(path).get("targets", {}), "[tool.faultinject.targets]", path)


def as_table(value: Any, what: str, path: Path) -> dict[str, Any]:
    """The value.

    Raises:
        UsageError: it is no table.
    """
    if not isinstance(value, dict):
        raise UsageError(f"{what} in {path} must be a table")
    return value


def _unknown(name: str, path: Path | None, directory: str, tables: dict[str, Any]) -> str:
    from faultinject.targets._builtin import names

    hint = near(name, [*tables, *names()])
    if path is None:
        where = f"there is no pyproject.toml in {directory} or above it"
    elif not tables:
        where = f"{path} has no [tool.faultinject.targets]"
    else:
        where = f"{path} names {', '.join(sorted(tables))}"
    return f"unknown target {name!r}{hint}: {where}; add a table for it, or {_callables.HOW}"


def _convert(table: Any, where: str) -> Table:
    if isinstance(table, dict):
        for key in table:
            if key not in Table.__struct_fields__:
                known = ", ".join(Table.__struct_fields__)
                raise UsageError(
                    f"{where}: unknown key {key!r}{near(key, Table.__struct_fields__)}; it may hold {known}"
                )
    try:
        return convert(table, Table)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {one_line(error)}") from None


def _find_makers(value: Any, where: str) -> dict[str, _callables.Found]:
    """Every ``@module:callable`` in `value`, found now so that a mistake shows before the sweep."""
    makers: dict[str, _callables.Found] = {}
    if isinstance(value, str) and value.startswith("@") and not value.startswith("@@"):
        found = _callables.find(value[1:], f"{where}: argument")
        _callables.check_arguments(found, (), {}, f"{where}: argument")
        makers[value] = found
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            makers.update(_find_makers(inner, where))
    return makers


def _fill(value: Any, makers: Mapping[str, _callables.Found]) -> Any:
    """A fresh copy of `value` with its ``@`` strings replaced; fresh, as a construction may change it."""
    if isinstance(value, str):
        if value in makers:
            return makers[value].bind()()
        return value[1:] if value.startswith("@@") else value
    if isinstance(value, list):
        return [_fill(v, makers) for v in value]
    if isinstance(value, dict):
        return {k: _fill(v, makers) for k, v in value.items()}
    return value
