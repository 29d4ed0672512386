"""What is deleted of `engine`, one thing at a time: found by syntax, in every file, at every place that fits.

Each operator takes away one release, one guard, one deadline or one deferral, and says what it took. What is
left out is left out by a rule that says why, never place by place.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Operator = Callable[[ast.AST], Iterator[tuple[str, list[ast.stmt] | ast.expr]]]


@dataclass(frozen=True)
class Mutation:
    """One thing deleted.

    Attributes:
        file: name of the file in ``engine/``.
        function: qualified name of the function around it, ``""`` at the top.
        line: where it begins.
        end: its last line.
        what: was deleted, in words.
        source: of the whole file without it.
    """

    file: str
    function: str
    line: int
    end: int
    what: str
    source: str

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line} {self.function.rpartition('.')[2]}"


SAYS_ONLY = frozenset({"_note", "commit", "warning", "sleep"})
"""Calls that pass the time, or write down what happened and do nothing else: no resource, no exception and no
signal depends on them. (`_log` is not among them: the log is how a caller hears of what stayed behind.)"""

NOT_IN_A_CONSTRUCTION = frozenset({"_harden.py", "_shape.py", "_command.py", "__init__.py"})
"""These decide whether a vLLM is hardened, before anything is constructed: a sweep looks at constructions."""

BETWEEN_PROCESSES = frozenset({"_startup.py", "_standin.py", "_socket_files.py"})
"""Parts of what hardens executors and engines in processes of their own, which these targets do not start."""

TEXT_ONLY = frozenset({"_stack_of", "now", "_note", "decorate"})
"""Functions whose result is for people to read: a stack, an event of the record, a signature. What it says is
not judged, only that none of them fails."""

RACES = frozenset({"_has_ended", "_exists", "_freeze_all_but"})
"""Functions that look twice, at a process or at an object of somebody else's, which may change in between: no
sweep can choose that moment. Their conditions and handlers are for it."""

SPARES_TIME = frozenset({"before_freeze", "before_unfreeze"})
"""Functions whose condition spares their work where nobody needs it: doing it all the same takes time."""


OF_VLLM = frozenset({"_core.py", "_executors.py", "_distributed.py", "_process_state.py"})
"""Their conditions ask what the vLLM that is found has, and the machine: with one version of it, on one
machine, each holds always or never, and to delete it changes nothing there."""


def mutations(directory: Path) -> Iterator[Mutation]:
    """Every mutation of the package in `directory`, by file and line."""
    for path in sorted(directory.glob("*.py")):
        if path.name in NOT_IN_A_CONSTRUCTION | BETWEEN_PROCESSES:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found = [(node, function, *change) for node, function in _nodes(tree) for change in _changes(node)]
        for node, function, what, instead in sorted(found, key=lambda one: one[0].lineno):  # type: ignore[attr-defined]
            asks = isinstance(node, ast.If) and path.name in OF_VLLM
            if not asks and _is_seen(node, function.rpartition(".")[2], what):
                source = ast.unparse(ast.fix_missing_locations(_replaced(tree, node, instead)))
                yield Mutation(path.name, function, node.lineno, node.end_lineno, what, source)  # type: ignore[attr-defined]


def _is_seen(node: ast.AST, function: str, what: str) -> bool:
    """Whether it can be seen from outside, by the rules above."""
    if function in SPARES_TIME and what.startswith("the condition"):
        return False
    if isinstance(node, (ast.Try, ast.With, ast.If)) and function in RACES:
        return False
    return function not in TEXT_ONLY or isinstance(node, (ast.Try, ast.With))


def _nodes(tree: ast.AST, function: str = "") -> Iterator[tuple[ast.AST, str]]:
    for child in ast.iter_child_nodes(tree):
        yield child, function
        inner = function
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            local = isinstance(tree, ast.FunctionDef)
            inner = f"{function}{'.<locals>' if local else ''}.{child.name}".lstrip(".")
        yield from _nodes(child, inner)


def _replaced(tree: ast.AST, node: ast.AST, instead: list[ast.stmt] | ast.expr) -> ast.AST:
    """A copy of `tree` with `instead` in the place of `node`."""

    class Replace(ast.NodeTransformer):
        def visit(self, visited: ast.AST) -> ast.AST | list[ast.stmt]:
            return instead if visited is node else super().generic_visit(visited)  # type: ignore[return-value]

    memo: dict[int, object] = {}
    copied = copy.deepcopy(tree, memo)
    node = memo[id(node)]  # type: ignore[assignment]
    return Replace().visit(copied)


def _changes(node: ast.AST) -> Iterator[tuple[str, list[ast.stmt] | ast.expr]]:
    for operator in OPERATORS:
        yield from operator(node)


def _text(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else text[:57] + "..."


def _name_of(call: ast.Call) -> str:
    function = call.func
    return getattr(function, "attr", getattr(function, "id", ""))


def call_deleted(node: ast.AST) -> Iterator[tuple[str, list[ast.stmt] | ast.expr]]:
    """A call for its effect: a release, a hold, a delivery."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        atomic = _name_of(node.value) == "extend"
        if _name_of(node.value) not in SAYS_ONLY and not atomic:
            yield f"the call {_text(node.value)}", [ast.Pass()]
    elif isinstance(node, ast.Assign) and _text(node.targets[0]) == "_":
        yield f"the delivery {_text(node)}", [ast.Pass()]


def recording_not_atomic(node: ast.AST) -> Iterator[tuple[str, list[ast.stmt] | ast.expr]]:
    """Constructing and recording in one step of the interpreter becomes two."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _name_of(node.value) == "extend":
        (made,) = node.value.args
        if isinstance(made, ast.Call) and _name_of(made) == "starmap":
            holder = ast.unparse(node.value.func.value)  # type: ignore[attr-defined]
            construct, arguments = map(ast.unparse, made.args)
            source = f"made = ({construct})(*({arguments})[0])\n{holder}.append(made)"
            yield "the recording in one step", ast.parse(source).body


def handler_deleted(node: ast.AST) -> Iterator[tuple[str, list[ast.stmt] | ast.expr]]:
    """What is done about an exception, or done whatever happens, or only about some of them.

    Left out: a `finally` behind a handler of BaseException that raises nothing, for it is reached anyhow.
    """
    if isinstance(node, ast.With) and _text(node.items[0].context_expr).startswith("contextlib.suppress"):
        yield f"the {_text(node.items[0])}", node.body
    if not isinstance(node, ast.Try):
        return
    all_caught = any(
        _text(one.type or node) == "BaseException"
        and not any(isinstance(inner, ast.Raise) for inner in ast.walk(one))
        for one in node.handlers
    )
    for index, handler in enumerate(node.handlers):
        caught = _text(handler.type) if handler.type is not None else ""
        fewer = [one for one in node.handlers if one is not handler]
        without = [ast.Try(node.body, fewer, node.orelse, node.finalbody)]
        bare = [*node.body, *node.orelse]
        yield f"the handler except {caught}", without if fewer or node.finalbody else bare  # type: ignore[misc]
        if caught == "BaseException":
            narrow = ast.ExceptHandler(ast.Name("Exception"), handler.name, handler.body)
            rest = [narrow if place == index else one for place, one in enumerate(node.handlers)]
            yield "the Base of except BaseException", [ast.Try(node.body, rest, node.orelse, node.finalbody)]
    if node.finalbody and not all_caught:
        body = ast.Try(node.body, node.handlers, node.orelse, []) if node.handlers else None
        yield "the try of a finally", [*([body] if body else node.body), *node.finalbody]


def guard_deleted(node: ast.AST) -> Iterator[tuple[str, list[ast.stmt] | ast.expr]]:
    """A condition holds always or never, or one of its parts does.

    Left out: a check that only raises, which tells the author of a constructor of a mistake in it and fires
    in none that works; one that only decides what is noted; and, of one that looks whether a value differs
    before it puts it back, to put it back in any case.
    """
    if isinstance(node, ast.If) and not _is_of_no_effect(node):
        if not (isinstance(node.test, ast.Compare) and isinstance(node.test.ops[0], ast.NotEq)):
            yield f"the condition if {_text(node.test)}", node.body
        yield f"what is done if {_text(node.test)}", node.orelse or [ast.Pass()]
        if isinstance(node.test, ast.BoolOp):
            for part in node.test.values:
                rest = [one for one in node.test.values if one is not part]
                test = rest[0] if len(rest) == 1 else ast.BoolOp(node.test.op, rest)
                yield f"the condition {_text(part)}", [ast.If(test, node.body, node.orelse)]
    elif isinstance(node, ast.ListComp) and node.generators[0].ifs:
        fewer = copy.copy(node.generators[0])
        fewer.ifs = []
        yield f"the condition if {_text(node.generators[0].ifs[0])}", ast.ListComp(node.elt, [fewer])
    elif isinstance(node, ast.While) and _text(node.test) != "True":
        yield f"the while of {_text(node.test)}", [ast.If(node.test, node.body, [])]


def _is_of_no_effect(node: ast.If) -> bool:
    return all(
        isinstance(one, ast.Raise)
        or (
            isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) and _name_of(one.value) in SAYS_ONLY
        )
        for one in node.body
    )


def count_deleted(node: ast.AST) -> Iterator[tuple[str, list[ast.stmt] | ast.expr]]:
    """What makes a thing happen once."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        yield f"the count {_text(node)}", [ast.Pass()]


def order_deleted(node: ast.AST) -> Iterator[tuple[str, list[ast.stmt] | ast.expr]]:
    """What brings releases into their order."""
    if isinstance(node, ast.Call) and _name_of(node) in ("sorted", "reversed"):
        plain = node.args[0]
        yield (
            f"the {_name_of(node)} of {_text(plain)}",
            ast.parse(f"list({ast.unparse(plain)})").body[0].value,
        )  # type: ignore[attr-defined]


def deadline_deleted(node: ast.AST) -> Iterator[tuple[str, list[ast.stmt] | ast.expr]]:
    """A limit of time, an escalation or a preparation that is handed on."""
    if not isinstance(node, ast.Call):
        return
    for index, keyword in enumerate(node.keywords):
        if keyword.arg in ("deadline", "grace", "escalate", "prepare") and _text(keyword.value) != "None":
            nothing = "0.0" if keyword.arg == "grace" else "None"
            if _text(keyword.value) == nothing:
                continue
            fewer = copy.copy(node)
            instead = ast.parse(nothing).body[0].value  # type: ignore[attr-defined]
            fewer.keywords = list(node.keywords)
            fewer.keywords[index] = ast.keyword(keyword.arg, instead)
            yield f"{keyword.arg}={_text(keyword.value)}", fewer
    if _name_of(node) == "join" and len(node.args) == 1 and not isinstance(node.func.value, ast.Constant):  # type: ignore[attr-defined]
        yield f"the limit of {_text(node)}", ast.Call(node.func, [], [])


def release_deleted(node: ast.AST) -> Iterator[tuple[str, list[ast.stmt] | ast.expr]]:
    """One of several releases of a thing, or one of several signals that are held."""
    if isinstance(node, ast.Assign) and _text(node.targets[0]) in ("RELEASES", "HELD", "VARIABLES"):
        values = node.value
    elif isinstance(node, ast.Tuple) and any(
        isinstance(one, ast.Constant) and "clear" in str(one.value) for one in node.elts
    ):
        values = node
    else:
        return
    if not isinstance(values, ast.Tuple):
        return
    for one in values.elts:
        fewer = ast.Tuple([other for other in values.elts if other is not one], ast.Load())
        yield f"{_text(one)} of several", [ast.Assign(node.targets, fewer)] if node is not values else fewer  # type: ignore[attr-defined]


def owned_too_late(node: ast.AST) -> Iterator[tuple[str, list[ast.stmt] | ast.expr]]:
    """What is owned before it is acquired, for no constructor hands it over, is owned after the last step."""
    body = getattr(node, "body", None)
    if not isinstance(node, ast.FunctionDef) or not isinstance(body, list):
        return
    for one in body[:-1]:
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) and _name_of(one.value) == "own":
            later = copy.copy(node)
            later.body = [*(other for other in body if other is not one), one]
            yield f"ownership before the act, {_text(one.value.args[0])}", [later]


OPERATORS: tuple[Operator, ...] = (
    call_deleted,
    recording_not_atomic,
    handler_deleted,
    guard_deleted,
    count_deleted,
    order_deleted,
    deadline_deleted,
    release_deleted,
    owned_too_late,
)
