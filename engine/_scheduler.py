"""The scheduler layer: what its constructor has acquired, it gives back when it fails half-way.

A connector for KV or encoder caches has sockets, threads, or memory that is registered with a device; a
publisher of events a thread and a port. Upstream's ``shutdown`` gives them back; but a scheduler whose
constructor has failed is nobody's to shut down.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from engine._rebound import globals_of, rebound
from engine._standin import Standin, recording
from engine._transaction import OwnershipTransaction

ORDER = ("event publisher", "KV connector", "encoder-cache connector")
"""Of upstream's own ``shutdown``."""

MADE_BY = {
    "KVConnectorFactory": ("create_connector", "KV connector"),
    "EventPublisherFactory": ("create", "event publisher"),
    "ECConnectorFactory": ("create_connector", "encoder-cache connector"),
}
"""Name that the constructor uses -> method of it, and what that makes."""


def hardened_scheduler_init(upstream: Callable[..., None], options: dict[str, Any]) -> Callable[..., None]:
    """``Scheduler.__init__`` as a transaction.

    Args:
        upstream: vLLM's own.
        options: of the `OwnershipTransaction`.
    """

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        with OwnershipTransaction("Scheduler", order=ORDER, **options) as transaction:
            _recording(upstream, transaction)(self, *args, **kwargs)

    return functools.wraps(upstream)(_named_as(upstream, __init__))


def _recording(upstream: Callable[..., None], transaction: OwnershipTransaction) -> Callable[..., None]:
    """The constructor, with factories whose products are owned from the moment at which they are made."""
    names = globals_of(upstream)

    def standin(factory: str) -> Standin:
        method, what = MADE_BY[factory]
        made = recording(transaction, what, getattr(names[factory], method), shut_down)
        return Standin(names[factory], **{method: made})

    return rebound(upstream, **{factory: standin(factory) for factory in MADE_BY})


def _named_as(upstream: Callable[..., None], function: Callable[..., None]) -> FunctionType:
    """That function, by the name of `upstream` to whatever looks at frames: it is a layer of vLLM's still."""
    plain: Any = inspect.unwrap(upstream)
    ours: Any = function
    code = ours.__code__.replace(co_name=plain.__name__, co_qualname=plain.__qualname__)
    names = {**ours.__globals__, "__name__": plain.__module__}
    return FunctionType(code, names, plain.__name__, ours.__defaults__, ours.__closure__)


def shut_down(made: Any) -> None:
    """Shut down what a factory has made, if it has made anything."""
    if made is not None:
        made.shutdown()
