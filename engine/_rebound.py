"""Functions of vLLM's, run as they are with some of their global names bound to something else.

So nothing of vLLM's modules changes, constructions in several threads do not know of each other, and a
name that somebody else has replaced in the module is still the one that is called. A function that somebody
has decorated, to trace it say, is rebound beneath its decoration.
"""

from __future__ import annotations

import inspect
from types import CellType, FunctionType
from typing import Any


def rebound(upstream: Any, **names: Any) -> FunctionType:
    """A function with the code of `upstream`, and these of its globals bound anew."""
    plain = getattr(upstream, "__func__", upstream)
    inner = getattr(plain, "__wrapped__", None)
    if inner is not None:
        return _decorated(plain, inner, rebound(inner, **names))
    return _copy(plain, {**plain.__globals__, **names}, plain.__closure__)


def globals_of(upstream: Any) -> dict[str, Any]:
    """The global names that `rebound` binds anew."""
    names: dict[str, Any] = inspect.unwrap(upstream).__globals__
    return names


def _decorated(decoration: Any, inner: Any, ours: FunctionType) -> FunctionType:
    """A copy of what `functools.wraps` has put around `inner`, around `ours`.

    One that keeps what it wraps elsewhere than in its closure cannot be copied so, and is left out.
    """
    cells = getattr(decoration, "__closure__", None) or ()
    if not any(_holds(cell, inner) for cell in cells):
        return ours
    closure = tuple(CellType(ours) if _holds(cell, inner) else cell for cell in cells)
    return _copy(decoration, decoration.__globals__, closure)


def _holds(cell: CellType, inner: Any) -> bool:
    try:
        return cell.cell_contents is inner
    except ValueError:  # empty
        return False


def _copy(plain: Any, names: dict[str, Any], closure: Any) -> FunctionType:
    copy = FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__, closure)
    copy.__kwdefaults__ = plain.__kwdefaults__
    return copy
