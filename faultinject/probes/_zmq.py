"""ZeroMQ contexts and sockets."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from os import listdir  # its own reference: a target may put something else in its place
from typing import Any

from faultinject.facts import Item
from faultinject.probes._identity import serial
from faultinject.probes._proc import needs_proc, stat
from faultinject.probes._protocol import Cost, Nature

_REAPER = "ZMQbg/Reaper"
_DEPTH = 3


class ZeroMQ:
    """Contexts that run, and the open sockets of contexts that can be found.

    pyzmq keeps no list of contexts. A context that has ever had a socket runs a thread named
    ``ZMQbg/Reaper`` until it is terminated, so contexts are counted by that. Sockets are listed for the
    shared instances (``Context.instance()``, asyncio's too); those of other contexts show by their
    descriptors and threads. A context that never had a socket holds nothing but memory.
    """

    name: str = "zmq"
    nature: Nature = "resource"
    cost: Cost = "costly"
    fork_visible: bool = False
    private: bool = True

    def unavailable(self) -> str | None:
        return needs_proc()

    def snapshot(self) -> Mapping[str, Item]:
        module: Any = sys.modules.get("zmq")
        base = getattr(module, "Context", None)
        if base is None:
            return {}
        found: dict[str, Item] = {}
        for key in _reapers():
            found[key] = Item("ZeroMQ context with sockets", group="context")
        for context in _contexts(base):
            if context.closed:
                continue
            number = serial(context)
            group = "shared context"
            found[f"context {number}"] = Item(f"ZeroMQ {type(context).__name__} {number}", group=group)
            for reference in list(getattr(context._sockets, "data", ())):
                held = reference()
                if held is not None and not held.closed:
                    kind = _socket_kind(held)
                    key = f"socket {serial(held)}"
                    found[key] = Item(f"ZeroMQ {kind} socket of context {number}", group=f"{kind} socket")
        return found


def _contexts(base: type) -> Iterator[Any]:
    seen: set[int] = set()
    waiting = [base]
    for _ in range(_DEPTH):
        below: list[type] = []
        for kind in waiting:
            instance = vars(kind).get("_instance")
            if instance is not None and id(instance) not in seen:
                seen.add(id(instance))
                yield instance
            below.extend(kind.__subclasses__())
        waiting = below


def _socket_kind(held: Any) -> str:
    # Asked of the library: 16 is ZMQ_TYPE. A socket may belong to another thread, which allows reading it.
    number = held.get(16)
    kinds: Any = getattr(sys.modules.get("zmq"), "SocketType", None)
    try:
        return str(kinds(number).name)
    except (TypeError, ValueError):
        return f"type {number}"


def _reapers() -> Iterator[str]:
    for number in listdir("/proc/self/task"):
        try:
            facts = stat(f"/proc/self/task/{number}/stat")
        except OSError:
            continue
        if facts.command == _REAPER:
            yield f"context of thread {number}:{facts.start}"
