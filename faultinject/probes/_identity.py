"""Serial numbers for objects, so that a reused address is not a reused key."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable

_serials: dict[int, tuple[weakref.ref[object], int]] = {}
_next = itertools.count(1)


def _forget(address: int) -> Callable[[object], None]:
    def forget(reference: object) -> None:
        known = _serials.get(address)
        if known is not None and known[0] is reference:
            del _serials[address]

    return forget


def serial(thing: object) -> str:
    """A number for `thing` that no other object of this process gets, without keeping it alive.

    An object that takes no weak reference gets its address instead, which a later object may share.
    """
    known = _serials.get(id(thing))
    if known is not None and known[0]() is thing:
        return str(known[1])
    try:
        reference = weakref.ref(thing, _forget(id(thing)))
    except TypeError:
        return f"{id(thing):#x}"
    number = next(_next)
    _serials[id(thing)] = reference, number
    return str(number)


def name_of(thing: object) -> str:
    """``module.qualname`` of a callable, or its type's; runs no code of the object's own."""
    kind = type(thing)
    if kind.__name__ in {"function", "builtin_function_or_method", "type", "ABCMeta"}:
        module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "?")
    elif kind.__name__ == "method":
        function = thing.__func__  # type: ignore[attr-defined]
        module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "?")
    else:
        return f"<{kind.__module__}.{kind.__qualname__}>"
    return f"{module}.{name}" if module else str(name)
