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
        """A lock, whose semaphore is unlinked again."""
        return self._transaction.acquire("lock", self._context.Lock, release=_unlink)

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


def _unlink(lock: Any) -> None:
    """Unlink the semaphore of a lock that is to be spawned with: its finalizer would, once nobody has it."""
    registry: dict[Any, Any] = vars(util)["_finalizer_registry"]
    wanted = (vars(synchronize.SemLock)["_cleanup"].__func__, (lock._semlock.name,))
    for finalizer in list(registry.values()):
        if (finalizer._callback, finalizer._args) == wanted:
            finalizer()
