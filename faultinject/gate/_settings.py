"""What ``[tool.faultinject]`` of a pyproject.toml says of the gate.

For example::

    [tool.faultinject.gate]
    matrices = "matrices"
    fault = ["RuntimeError", "KeyboardInterrupt"]

    [[tool.faultinject.gate.sweep]]
    target = "client"

    [[tool.faultinject.gate.sweep]]
    target = "client"
    level = "sites"

Every option of ``faultinject sweep`` is a key by its name without the dashes: of the table for all sweeps, of
a row for one. Without a row, each table under ``[tool.faultinject.targets]`` is a sweep.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from faultinject._near import near
from faultinject._reading import check_inside, quoted
from faultinject.errors import UsageError
from faultinject.targets import as_table, find_pyproject, read_section

KNOWN: Final = ("targets", "gate")
"""Keys of ``[tool.faultinject]``."""


class Row(msgspec.Struct, frozen=True):
    """One sweep that is named.

    Attributes:
        keys: the options of the sweep, as written.
        where: the place, for an error.
    """

    target: str
    keys: dict[str, Any]
    where: str


class GateSettings(msgspec.Struct, frozen=True):
    """The gate of a project.

    Attributes:
        directory: of the pyproject.toml; targets and baselines lie in it.
        matrices: the folder of the baselines.
    """

    directory: Path
    matrices: Path
    rows: tuple[Row, ...]


def read_settings(directory: Path) -> GateSettings:
    """The gate of the project that `directory` lies in.

    Raises:
        UsageError: there is no pyproject.toml, it names no target, or something in it is wrong.
    """
    path = find_pyproject(str(directory.resolve()))
    if path is None:
        raise UsageError(
            f"there is no pyproject.toml in {directory} or above it: the gate runs what its "
            "[tool.faultinject] names"
        )
    tool = read_section(path)
    for key in tool:
        if key not in KNOWN:
            raise UsageError(
                f"{path}: unknown key {quoted(key)} of [tool.faultinject]{near(key, KNOWN)}; it may hold "
                f"{', '.join(KNOWN)}"
            )
    gate = as_table(tool.get("gate", {}), "[tool.faultinject.gate]", path)
    targets = as_table(tool.get("targets", {}), "[tool.faultinject.targets]", path)
    common = {key: value for key, value in gate.items() if key not in ("matrices", "sweep")}
    if "target" in common:
        raise UsageError(
            f"[tool.faultinject.gate] in {path}: a target belongs in [[tool.faultinject.gate.sweep]]"
        )
    rows = _rows(gate.get("sweep"), targets, common, path)
    return GateSettings(path.parent, _folder(gate.get("matrices", "matrices"), path), rows)


def _folder(value: Any, path: Path) -> Path:
    where = f"[tool.faultinject.gate] in {path}: matrices"
    if not isinstance(value, str) or not value:
        raise UsageError(f"{where}: it is no name of a folder")
    root = path.parent.resolve()
    try:
        return check_inside(root / value, root, "folder").resolve()
    except UsageError:
        text = f"{where}: {quoted(value)} lies outside of the project: name a folder in it"
        raise UsageError(text) from None


def _rows(sweeps: Any, targets: Mapping[str, Any], common: Mapping[str, Any], path: Path) -> tuple[Row, ...]:
    if sweeps is None:
        if not targets:
            raise UsageError(
                f"{path} names no target: add a table under [tool.faultinject.targets], "
                "or a row [[tool.faultinject.gate.sweep]] with a target"
            )
        where = f"[tool.faultinject.gate] in {path}"
        return tuple(Row(name, dict(common), where) for name in targets)
    if not isinstance(sweeps, list) or not sweeps:
        raise UsageError(
            f"{path}: sweep of [tool.faultinject.gate] must be rows [[tool.faultinject.gate.sweep]]"
        )
    found: list[Row] = []
    for number, row in enumerate(sweeps, 1):
        where = f"[[tool.faultinject.gate.sweep]] row {number} in {path}"
        keys = {**common, **as_table(row, where, path)}
        target = keys.pop("target", None)
        if not isinstance(target, str) or not target:
            raise UsageError(f"{where}: target: it names no target")
        found.append(Row(target, keys, where))
    return tuple(found)
