"""Whether the code at a fault point is still the code that was there when the point last ran.

Read from the files, never imported: a digest of the function that makes the call, and of the one that is
called where its source lies in the project too.
"""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

from faultinject.facts import Point
from faultinject.points import module_of, qualname_of

_LARGEST = 8 << 20


class Sources:
    """Digests of functions, each file read once.

    Args:
        directory: of the project, for what no point names the file of.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files: dict[str, dict[str, str]] = {}

    def digest(self, point: Point) -> str:
        """Changes when the code at the point does; the same text where no source is to be had."""
        parts = (self._of(point.caller, point.file), self._of(point.callee, ""))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def _of(self, name: str, file: str) -> str:
        path = file or self._find(module_of(name))
        if not path:
            return ""
        if path not in self._files:
            self._files[path] = _functions(Path(path))
        functions = self._files[path]
        qualname = qualname_of(name).replace(".<locals>", "")
        # A lambda or a comprehension is a part of what it stands in.
        while qualname not in functions and "." in qualname:
            qualname = qualname.rpartition(".")[0]
        return functions.get(qualname, "")

    def _find(self, module: str) -> str:
        parts = module.split(".")
        for root in (self._directory, self._directory / "src"):
            for path in (root.joinpath(*parts).with_suffix(".py"), root.joinpath(*parts, "__init__.py")):
                if module and path.is_file():
                    return str(path)
        return ""


def _functions(path: Path) -> dict[str, str]:
    """By qualified name, a digest of each function and class; nothing where the file cannot be read."""
    try:
        if path.stat().st_size > _LARGEST:
            return {}
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return {}
    found: dict[str, str] = {}
    todo: list[tuple[str, ast.AST]] = [("", tree)]
    while todo:
        prefix, node = todo.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}{child.name}"
                # Without places: a line more above it changes nothing.
                found[name] = hashlib.sha256(ast.dump(child).encode()).hexdigest()
                todo.append((f"{name}.", child))
            else:
                todo.append((prefix, child))
    return found
