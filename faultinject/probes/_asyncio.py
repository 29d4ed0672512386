"""Event loops and tasks."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from faultinject.facts import Item
from faultinject.probes._groups import name_group
from faultinject.probes._identity import serial
from faultinject.probes._protocol import Cost, Nature


class Asyncio:
    """Tasks that are not done, and event loops that are not closed.

    asyncio keeps no list of loops. Found are the running loop of this thread, the loop set for it, and the
    loops of tasks that are not done. Any other open loop shows by its descriptors, an epoll and two sockets.
    """

    name: str = "asyncio"
    nature: Nature = "resource"
    cost: Cost = "cheap"
    fork_visible: bool = True
    private: bool = True

    def unavailable(self) -> str | None:
        return None

    def snapshot(self) -> Mapping[str, Item]:
        tasks: Any = sys.modules.get("asyncio.tasks")
        events: Any = sys.modules.get("asyncio.events")
        if tasks is None or events is None or not hasattr(tasks, "Task"):
            return {}
        found: dict[str, Item] = {}
        policy = getattr(events, "_event_loop_policy", None)
        # The attribute, not get_event_loop(), which makes a loop where there is none.
        loops = [events._get_running_loop(), getattr(getattr(policy, "_local", None), "_loop", None)]
        for task in [*_tasks(tasks, loops)]:
            if task.done():
                continue
            loop = task.get_loop()
            loops.append(loop)
            name = task.get_name()
            item = Item(f"task {name!r}", group=f"task {name_group(name)}")
            found[f"task {name}:{serial(task)}"] = item
        for loop in loops:
            if loop is not None and not loop.is_closed():
                kind = type(loop).__name__
                running = "running " if loop.is_running() else ""
                key = f"loop {serial(loop)}"
                found[key] = Item(f"{running}event loop {kind}", group=f"event loop {kind}")
        return found


def _tasks(module: Any, loops: list[Any]) -> Iterator[Any]:
    # 3.11 has _all_tasks, 3.12 and later two sets; 3.14 keeps tasks of asyncio's own class in C besides.
    for name in ("_all_tasks", "_scheduled_tasks", "_eager_tasks"):
        group = getattr(module, name, None)
        if group is None:
            continue
        for entry in list(getattr(group, "data", group)):
            task = entry() if hasattr(group, "data") else entry
            if task is not None:
                yield task
    if sys.version_info >= (3, 14):
        for loop in loops:
            if loop is not None:
                yield from module.all_tasks(loop)
