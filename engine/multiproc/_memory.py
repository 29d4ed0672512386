"""The shared memory of a ring buffer: made whole or not at all, and attached to without harm to its owner.

Python's own `SharedMemory` leaves a name and a descriptor behind where it is made and cannot be mapped for a
reason other than an OSError, and removes its owner's name where an attachment fails
(https://github.com/python/cpython/issues/153279).
"""

from __future__ import annotations

import contextlib
import inspect
import secrets
from collections.abc import Callable
from multiprocessing import resource_tracker
from typing import Any

from engine._rebound import globals_of, rebound
from engine._standin import Standin


class RingBuffer:
    """A ring buffer that is being made, or attached to; to be owned before that begins.

    Args:
        kind: vLLM's ``ShmRingBuffer``.
    """

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._holder: Any = None
        self._memory: Any = None

    def make(self, *args: Any, **kwargs: Any) -> Any:
        """The buffer, as its class makes it of these arguments."""
        construct: Any = getattr(self._kind, "__init__", None)
        module = globals_of(construct).get("shared_memory") if inspect.isfunction(construct) else None
        if not inspect.isclass(self._kind) or module is None:
            # Somebody has put something of their own there.
            self._holder = self._kind(*args, **kwargs)
            return self._holder
        self._holder = object.__new__(self._kind)
        memory = Standin(module, SharedMemory=self._memory_of(module.SharedMemory))
        rebound(construct, shared_memory=memory)(self._holder, *args, **kwargs)
        return self._holder

    def give_back(self) -> None:
        """Give back what there is of it, if anything."""
        if getattr(self._holder, "shared_memory", None) is not None:
            give_back_memory(self._holder)
        elif self._memory is not None:
            name = self._memory._name
            try:
                if unlink_untracked(name) and self._memory._mmap is not None:
                    # Python's resource tracker hears of a block once that is mapped, or is about to.
                    resource_tracker.register(name, "shared_memory")
                    resource_tracker.unregister(name, "shared_memory")
            finally:
                self._memory.close()

    def _memory_of(self, kind: Any) -> Callable[..., Any]:
        def memory(name: str | None = None, create: bool = False, size: int = 0) -> Any:
            if not inspect.isclass(kind):
                return kind(name=name, create=create, size=size)
            if not create:
                attached: Any = object.__new__(kind)
                try:
                    _construct(attached, name)
                except BaseException:
                    attached.close()
                    raise
                return attached
            while True:
                # By a name that is known also where the constructor fails, and before it ends.
                chosen = f"psm_{secrets.token_hex(8)}"
                made: Any = object.__new__(kind)
                self._memory = made
                made._name = f"/{chosen}"
                try:
                    _construct(made, chosen, True, size)
                except FileExistsError:
                    self._memory = None
                else:
                    return made

        return memory


def _construct(memory: Any, *arguments: Any) -> None:
    """Run the constructor of a `SharedMemory`, which does not remove the name where it cannot map it: that
    may be somebody else's, and the resource tracker has not heard of it."""
    memory.unlink = lambda: None
    try:
        memory.__init__(*arguments)
    finally:
        del memory.unlink


def give_back_memory(holder: Any) -> None:
    """Give back the memory of what holds some as ``shared_memory``; its creator's name goes too.

    Unlinked first: a mapping that is still looked at cannot be closed, and its name can go.
    """
    if getattr(holder, "is_creator", False):
        # Its finalizer would unlink once more, and complain.
        holder.is_creator = False
        try:
            holder.shared_memory.unlink()
        finally:
            holder.shared_memory.close()
    else:
        holder.shared_memory.close()


def unlink_memory(name: str) -> None:
    """Remove a name that its maker had registered with a tracker which this process may share, and which
    would speak of a leak."""
    if unlink_untracked(name):
        resource_tracker.unregister(f"/{name.lstrip('/')}", "shared_memory")


def unlink_untracked(name: str) -> bool:
    """Remove a name; whether it was there."""
    import _posixshmem  # type: ignore[import-not-found]

    with contextlib.suppress(FileNotFoundError):
        _posixshmem.shm_unlink(f"/{name.lstrip('/')}")
        return True
    return False
