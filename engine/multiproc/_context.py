"""A context of multiprocessing that has owned what it makes."""

from __future__ import annotations

from multiprocessing import synchronize, util
from typing import Any

from engine._processes import stop_processes
from engine._transaction import OwnershipTransaction


class Recording:
    """Stands for a context of multiprocessing.

    Args:
        context: the real one.
        transaction: owns what is made.
    """

    def __init__(self, context: Any, transaction: OwnershipTransaction) -> None:
        self._context = context
        self._transaction = transaction
        self._pipes = 0

    def Pipe(self, *args: Any, **kwargs: Any) -> Any:
        """A pipe, both ends of which are closed again."""
        self._pipes += 1
        return self._transaction.acquire(
            f"pipe {self._pipes}", self._context.Pipe, *args, release=_close_both, keywords=kwargs
        )

    def Process(self, *args: Any, **kwargs: Any) -> Any:
        """A process, started or not, that is ended again."""
        return self._transaction.acquire(
            "process", self._context.Process, *args, release=_end, keywords=kwargs
        )

    def Lock(self) -> Any:
        """A lock, whose semaphore is closed again."""
        return self._transaction.acquire("lock", self._context.Lock, release=_close_lock)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


def close_process(process: Any) -> None:
    """Close the descriptor by which the process was watched, unless it is stuck and lives on."""
    if not process.is_alive():
        process.close()


def _end(process: Any) -> None:
    stop_processes([process])
    close_process(process)


def _close_both(ends: Any) -> None:
    for end in ends:
        end.close()


def _close_lock(lock: Any) -> None:
    """Unmap the semaphore of a lock, which the frames of the exception may hold, and unlink that of one that
    is to be spawned with: its finalizer would, once nobody has it."""
    semaphore = vars(lock).get("_semlock")
    if semaphore is None:
        return
    registry: dict[Any, Any] = vars(util)["_finalizer_registry"]
    wanted = (vars(synchronize.SemLock)["_cleanup"].__func__, (semaphore.name,))
    for finalizer in list(registry.values()):
        if (finalizer._callback, finalizer._args) == wanted:
            finalizer()
    # It has no method for it: it ends with its last reference, and these are all that a lock keeps.
    for name in ("_semlock", "acquire", "release"):
        vars(lock).pop(name, None)
