"""A construction in a process whose heap was frozen before, as a server's is before it forks."""

from __future__ import annotations

import gc
import weakref
from contextlib import suppress

from engine import OwnershipTransaction, transactional
from engine._gc_state import GcState
from tests.ownership.targets import configure


def callback(phase: str, info: dict[str, int]) -> None: ...


def callback_of_others(phase: str, info: dict[str, int]) -> None: ...


callback.__module__ = "vllm.somewhere"

# By the caller, before anything is constructed: these must stay.
gc.freeze()
gc.callbacks.append(callback)


FEW = 5_000
"""Objects that a tool which looks on may make meanwhile."""


class Made:
    """By the first choice, and gone with its exception."""


class FrozenBefore:
    """Its first choice freezes the heap in its turn and fails; then it takes a second one.

    Raises:
        RuntimeError: the collector is not as it was; then nothing of this can be swept. (A sweep by itself
            sees a freeze that is left, not one that is gone: frozen objects may end by themselves.)
    """

    def __init__(self) -> None:
        self.links: list[list[int]] = [[] for _ in range(2 * FEW)]
        frozen = gc.get_freeze_count()
        with suppress(ZeroDivisionError):
            self._freeze()
        if self.witness() is not None:
            raise RuntimeError("what the failed choice had is kept by what it was given back with")
        changed = gc.get_freeze_count() - frozen
        if abs(changed) > FEW or not all(map(gc.is_tracked, self.links)):
            raise RuntimeError(f"frozen: {changed:+}, or something is not seen by the collector any more")
        if callback not in gc.callbacks or callback_of_others not in gc.callbacks:
            raise RuntimeError("a callback is gone that is another's")
        gc.callbacks.remove(callback_of_others)
        self.size = configure()

    @transactional("FrozenBefore", deadline=None)
    def _freeze(self, transaction: OwnershipTransaction) -> None:
        state = transaction.own("GC state", GcState(), release=("before_unfreeze", _unfreeze, "restore"))
        state.before_freeze()
        gc.freeze()
        made = Made()
        self.witness = weakref.ref(made)
        gc.callbacks.append(callback_of_others)
        self.links += [[] for _ in range(2 * FEW)]
        raise ZeroDivisionError

    def close(self) -> None: ...


class FrozenBeforeOnly(FrozenBefore):
    """The same, where the first choice does not freeze."""

    @transactional("FrozenBeforeOnly", deadline=None)
    def _freeze(self, transaction: OwnershipTransaction) -> None:
        transaction.own("GC state", GcState(), release=("before_unfreeze", "restore"))
        made = Made()
        self.witness = weakref.ref(made)
        gc.callbacks.append(callback_of_others)
        self.links += [[] for _ in range(2 * FEW)]
        raise ZeroDivisionError


def _unfreeze(state: GcState) -> None:
    """As the end of a vLLM worker does."""
    gc.unfreeze()
