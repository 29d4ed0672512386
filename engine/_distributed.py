"""The process groups of one construction: what it set up, and the way back from there.

`torch.distributed` and vLLM's ``parallel_state`` keep groups in module globals. vLLM's own tear-down
destroys all there are, which is right for a process that ends and wrong for one whose caller has groups of
its own. So what exists before a construction is noted, and only what came since is destroyed.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any


class ProcessGroups:
    """The process groups that exist when a construction starts."""

    def __init__(self) -> None:
        self._groups = set(_groups())
        self._coordinators = {name: id(one) for name, one in coordinators().items()}
        self._failures: list[Exception] = []

    def give_back(self) -> None:
        """Destroy the groups that came since; a group that fails to end does not keep the next.

        Raises:
            ExceptionGroup: of what failed, after everything was tried.
        """
        self._end_what_came_since()
        failures, self._failures = self._failures, []
        try:
            if failures:
                raise ExceptionGroup("process groups", failures)
        finally:
            # The frame of what failed leads back to those that called it. If one of them had a name for the
            # failure, that circle, and all that it holds, would wait for the garbage collector.
            del failures

    def _end_what_came_since(self) -> None:
        state = sys.modules.get("vllm.distributed.parallel_state")
        since = {name: one for name, one in coordinators().items() if self._coordinators.get(name) != id(one)}
        for name in since:
            setattr(state, name, None)
        if "_WORLD" not in self._coordinators and hasattr(state, "_NODE_COUNT"):
            state._NODE_COUNT = None  # type: ignore[union-attr]
        # One may go by several names.
        ending = list({id(one): one for one in since.values()}.values())
        while ending:
            self._try(_destroy_first, ending)
        # Those that no coordinator had received yet when the construction failed. Newest first: the oldest
        # is the default one, and destroying that one destroys all.
        others = [one for one in _groups() if one not in self._groups]
        while others:
            self._try(_destroy_last, others)

    def _try(self, destroy: Callable[[list[Any]], None], what: list[Any]) -> None:
        try:
            destroy(what)
        except Exception as error:
            # A frame below may hold a group, and with it its threads and sockets.
            traceback.clear_frames(error.__traceback__)
            self._failures.append(error)


def _let_go(coordinator: Any) -> None:
    """Drop a coordinator's references to its groups.

    A gloo group ends its threads and closes its sockets when the last reference to it goes; a frame of the
    traceback on its way may hold the coordinator or its communicator for as long as someone keeps the
    exception.
    """
    for holder in (getattr(coordinator, "device_communicator", None), coordinator):
        for name in ("device_group", "cpu_group", "tcp_store_group"):
            if holder is not None and name in getattr(holder, "__dict__", {}):
                delattr(holder, name)


def _destroy_first(coordinators: list[Any]) -> None:
    """Take the first coordinator from the list, and end it."""
    coordinator = coordinators.pop(0)
    try:
        coordinator.destroy()
    finally:
        _let_go(coordinator)


def _destroy_last(groups: list[Any]) -> None:
    """Take the last group from the list, and end it."""
    import torch.distributed

    torch.distributed.destroy_process_group(groups.pop())


def _groups() -> list[Any]:
    module = sys.modules.get("torch.distributed")
    if module is None or not module.is_available() or not module.is_initialized():
        return []
    from torch.distributed import distributed_c10d

    return list(distributed_c10d._world.pg_map)


def coordinators() -> dict[str, Any]:
    """Name -> coordinator, for each global of vLLM's parallel state that holds one."""
    state = sys.modules.get("vllm.distributed.parallel_state")
    if state is None:
        return {}
    return {
        name: value for name, value in list(vars(state).items()) if isinstance(value, state.GroupCoordinator)
    }
