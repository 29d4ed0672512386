"""What is to be called at exit."""

from __future__ import annotations

import atexit
import functools
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

from faultinject.facts import Item
from faultinject.probes._identity import name_of
from faultinject.probes._protocol import Cost, Nature


class ExitCallbacks:
    """Functions registered with ``atexit``, and with threading's own list that runs before it.

    ``atexit._ncallbacks()`` will not do: until 3.13 it goes on counting a callback that was unregistered. But
    ``atexit.unregister`` is documented to compare with ``==``, so an object that is equal to nothing gets to
    see every callback, and none is removed. (A callback whose own ``__eq__`` answers without asking the other
    side is not seen.)
    """

    name: str = "atexit"
    nature: Nature = "state"
    cost: Cost = "cheap"
    fork_visible: bool = True
    private: bool = True

    def unavailable(self) -> str | None:
        return None

    def snapshot(self) -> Mapping[str, Item]:
        visitor = _Visitor()
        atexit.unregister(cast(Any, visitor))
        for callback in list(getattr(sys.modules.get("threading"), "_threading_atexits", ())):
            visitor.names.append("threading: " + name_of(_wrapped(callback)))
        return {
            name: Item(f"exit callback {name}", value=str(count), group=name)
            for name, count in Counter(visitor.names).items()
        }


def _wrapped(callback: Any) -> object:
    # threading._register_atexit wraps what it is given: in a functools.partial, from 3.13 on in a lambda.
    if isinstance(callback, functools.partial):
        return callback.func
    names = getattr(getattr(callback, "__code__", None), "co_freevars", ())
    if "func" in names and callback.__qualname__.startswith("_register_atexit."):
        return callback.__closure__[names.index("func")].cell_contents
    return callback


class _Visitor:
    """Equal to nothing; notes the name of what it is compared with."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __eq__(self, other: object) -> bool:
        self.names.append(name_of(other))
        return False

    __hash__ = None  # type: ignore[assignment]
