"""The executor layer: what an executor in this process sets up, it gives back.

Upstream's ``UniProcExecutor.shutdown`` ends the worker; the worker's process groups (with their sockets and
threads) and the process-wide state that it changed stay, for the end of the process to clear.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from engine._distributed import ProcessGroups
from engine._gc_state import GcState
from engine._process_state import ProcessState
from engine._processes import stop_processes
from engine._transaction import OwnershipTransaction, transactional

_SET_UP = "_set_up_in_this_process"


def hardened_init_executor(upstream: Callable[[Any], None], options: dict[str, Any]) -> Callable[[Any], None]:
    """``UniProcExecutor._init_executor`` as a transaction.

    Args:
        upstream: vLLM's own.
        options: of the `OwnershipTransaction`.
    """

    @transactional("UniProcExecutor", **options)
    @functools.wraps(upstream)
    def _init_executor(self: Any, transaction: OwnershipTransaction) -> None:
        groups, state, gc_state = ProcessGroups(), ProcessState(), GcState()
        transaction.own("process state", state, release="restore")
        transaction.own("process groups", groups, release="give_back")
        transaction.own("GC state", gc_state, release="restore")
        transaction.own("worker", self, release=_shut_worker_down)
        transaction.own("caller's GC freeze", gc_state, release="before_unfreeze")
        upstream(self)
        # For whoever shuts the executor down because something above it failed.
        vars(self)[_SET_UP] = (groups, state)

    return _init_executor


def give_back_groups(executor: Any) -> None:
    """Destroy the process groups that the executor's construction set up in this process, if it did."""
    set_up = vars(executor).get(_SET_UP)
    if set_up is not None:
        set_up[0].give_back()


def restore_process(executor: Any) -> None:
    """Put back the process-wide state that the executor's construction changed, if it did."""
    set_up = vars(executor).get(_SET_UP)
    if set_up is not None:
        set_up[1].restore()


RELEASES = ("shutdown", give_back_groups, restore_process)
"""How an executor that was constructed is given back whole."""


def stop_workers(executor: Any) -> None:
    """End the worker processes of an executor that did not end them itself in time."""
    handles = getattr(executor, "workers", None) or ()
    stop_processes(handle.proc for handle in handles if hasattr(handle, "proc"))


def _shut_worker_down(executor: Any) -> None:
    wrapper: Any = getattr(executor, "driver_worker", None)
    # A wrapper whose worker was not made owns nothing, and its shutdown would say so by an AttributeError.
    if getattr(wrapper, "worker", None) is not None:
        wrapper.shutdown()
