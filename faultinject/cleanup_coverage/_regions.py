"""The clean-up code of a file, found in its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import CodeType

import msgspec

_EXITS = frozenset({"__exit__", "__aexit__"})
_PRAGMA = "pragma: no cover"


class Region(msgspec.Struct, frozen=True):
    """The body of a handler, a ``finally``, or a context manager's exit.

    Attributes:
        kind: ``except``, ``finally`` or ``__exit__``.
        where: qualified name of the function or class it stands in; empty at the top of the file.
        line: of its head.
        lines: its own lines that can be executed, without those of regions within it.
    """

    kind: str
    where: str
    line: int
    lines: frozenset[int]


def regions_of(source: str, file: str = "<source>") -> tuple[Region, ...]:
    """The clean-up code of a file, in the order of its lines; none where it is no Python.

    A line marked ``# pragma: no cover``, or the body of a head so marked, is left out, as coverage.py does.
    """
    try:
        tree = ast.parse(source, file)
        executable = frozenset(_lines(compile(source, file, "exec", dont_inherit=True)))
    except (SyntaxError, ValueError):
        return ()
    left_out = {n for n, text in enumerate(source.splitlines(), 1) if _PRAGMA in text}
    found: list[Region] = []
    taken: set[int] = set()
    # The innermost takes its lines first.
    for kind, where, line, body in sorted(_bodies(tree, ""), key=lambda one: _size(one[3])):
        if line in left_out:
            taken |= _span(body)
            continue
        lines = (_span(body) & executable) - left_out - taken
        taken |= lines
        if lines:
            found.append(Region(kind, where, line, frozenset(lines)))
    return tuple(sorted(found, key=lambda region: region.line))


def _bodies(node: ast.AST, where: str) -> Iterator[tuple[str, str, int, list[ast.stmt]]]:
    """(kind, where, line of the head, body) of each region beneath a node."""
    for child in ast.iter_child_nodes(node):
        name = where
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{where}.{child.name}" if where else child.name
            if child.name in _EXITS and not isinstance(child, ast.ClassDef):
                yield "__exit__", name, child.lineno, child.body
        elif isinstance(child, ast.Try | ast.TryStar):
            for handler in child.handlers:
                yield "except", where, handler.lineno, handler.body
            if child.finalbody:
                yield "finally", where, _head_of_finally(child), child.finalbody
        yield from _bodies(child, name)


def _head_of_finally(node: ast.Try | ast.TryStar) -> int:
    """The line of ``finally:`` is in no node: it lies between what comes before and its body."""
    before = [*node.body, *(s for h in node.handlers for s in h.body), *node.orelse]
    last = max(statement.end_lineno or statement.lineno for statement in before)
    return min(last + 1, node.finalbody[0].lineno)


def _span(body: list[ast.stmt]) -> set[int]:
    return {n for s in body for n in range(s.lineno, (s.end_lineno or s.lineno) + 1)}


def _size(body: list[ast.stmt]) -> int:
    return len(_span(body))


def _lines(code: CodeType) -> Iterator[int]:
    """The lines that can be executed, without those that only begin a function."""
    for _, _, number in code.co_lines():
        if number and not (number == code.co_firstlineno and code.co_name != "<module>"):
            yield number
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _lines(constant)
