"""The coordinator of data-parallel engines: its process, and who ends that while its engines are started.

Upstream's is left to finalization from its start to the moment at which a client has it, and the files of its
sockets stay in any case.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from engine._rebound import globals_of, rebound
from engine._socket_files import expect_file, file_of, remove_file
from engine._standin import recording
from engine._transaction import OwnershipTransaction, transactional
from engine.multiproc._context import Recording

_FILES = "_files_of_its_sockets"


def hardened_coordinator_init(upstream: Callable[..., None], options: dict[str, Any]) -> Callable[..., None]:
    """``DPCoordinator.__init__`` as a transaction.

    Args:
        upstream: vLLM's own.
        options: of the `OwnershipTransaction`.
    """

    @transactional("DPCoordinator", **options)
    @functools.wraps(upstream)
    def __init__(self: Any, transaction: OwnershipTransaction, *args: Any, **kwargs: Any) -> None:
        names = globals_of(upstream)
        files: list[str] = []
        # Released last: they are the process's as long as it lives.
        transaction.own("files of its sockets", files, release=_remove)
        transaction.own("finalizer", self, release=_detach)

        def address(*given: Any, **more: Any) -> str:
            made: str = names["get_engine_client_zmq_addr"](*given, **more)
            if file := file_of(made):
                files.append(file)
                expect_file(file)
            return made

        rebound(
            upstream,
            get_mp_context=lambda: Recording(names["get_mp_context"](), transaction),
            get_engine_client_zmq_addr=address,
        )(self, *args, **kwargs)
        vars(self)[_FILES] = files

    return __init__


def hardened_coordinator_shutdown(upstream: Callable[..., None]) -> Callable[..., None]:
    """``DPCoordinator.shutdown``, with the files of its sockets.

    Args:
        upstream: vLLM's own.
    """

    @functools.wraps(upstream)
    def shutdown(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            upstream(self, *args, **kwargs)
        finally:
            _remove(vars(self).get(_FILES, []))

    return shutdown


def hardened_launch(upstream: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """``launch_core_engines``, which ends the coordinator where its engines do not come up.

    Args:
        upstream: vLLM's own.
        options: of the `OwnershipTransaction`.
    """

    @functools.wraps(upstream)
    @contextlib.contextmanager
    def launch_core_engines(*args: Any, **kwargs: Any) -> Iterator[Any]:
        kind = globals_of(upstream)["DPCoordinator"]
        with OwnershipTransaction("launch_core_engines", **options) as transaction:
            make = recording(transaction, "coordinator", kind, "shutdown")
            with rebound(upstream, DPCoordinator=make)(*args, **kwargs) as launch:
                yield launch

    return launch_core_engines


def _remove(files: list[str]) -> None:
    while files:
        remove_file(files.pop())


def _detach(coordinator: Any) -> None:
    """Take back the finalizer, which would look for a process that is gone by then."""
    finalizer = vars(coordinator).get("_finalizer")
    if finalizer is not None:
        finalizer.detach()
