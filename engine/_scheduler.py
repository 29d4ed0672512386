"""The scheduler layer: what its constructor has acquired, it gives back when it fails half-way.

A connector for KV or encoder caches has sockets, threads, or memory that is registered with a device; a
publisher of events a thread and a port. Upstream's ``shutdown`` gives them back; but a scheduler whose
constructor has failed is nobody's to shut down.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from engine._rebound import globals_of, rebound
from engine._standin import Standin
from engine._transaction import OwnershipTransaction, transactional

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

    @transactional("Scheduler", order=ORDER, **options)
    @functools.wraps(upstream)
    def __init__(self: Any, transaction: OwnershipTransaction, *args: Any, **kwargs: Any) -> None:
        names = globals_of(upstream)

        def standin(factory: str) -> Standin:
            method, what = MADE_BY[factory]
            make = getattr(names[factory], method)

            def making(*arguments: Any, **keywords: Any) -> Any:
                return transaction.acquire(what, make, *arguments, release=shut_down, keywords=keywords)

            return Standin(names[factory], **{method: making})

        rebound(upstream, **{factory: standin(factory) for factory in MADE_BY})(self, *args, **kwargs)

    return __init__


def shut_down(made: Any) -> None:
    """Shut down what a factory has made, if it has made anything."""
    if made is not None:
        made.shutdown()
