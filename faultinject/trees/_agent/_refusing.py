"""What the system refuses this process from a milestone on: limits where the kernel has them, failing calls
where it has not, or where root is above them."""

from __future__ import annotations

import errno
import importlib
import os
import resource
import sys
from collections.abc import Callable
from typing import Any

from ._link import keep_in_reserve

MARGIN = 16 << 20
"""Bytes that a process which is refused memory may still map: its next large request fails, not this one."""


def refuse(what: str) -> None:
    """Put a system fault in place, for good.

    Args:
        what: ``nofile``, ``nofork``, ``nomemory[:MIB]``, ``nospace:PREFIX`` or ``portinuse:any``.
    """
    name, _, detail = what.partition(":")
    {
        "nofile": _no_descriptors,
        "nofork": _no_children,
        "nomemory": _no_memory,
        "nospace": _no_space,
        "portinuse": _port_in_use,
    }[name](detail)


def _error(number: int, place: object = None) -> OSError:
    text = f"{os.strerror(number)} (injected by faultinject)"
    return OSError(number, text, place) if place is not None else OSError(number, text)


def _no_descriptors(_: str) -> None:
    # The kernel gives the lowest free number, and refuses one that is not below the limit.
    keep_in_reserve()
    lowest = os.open(os.devnull, os.O_RDONLY)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, lowest))


def _no_memory(detail: str) -> None:
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    margin = int(detail) << 20 if detail else MARGIN
    resource.setrlimit(resource.RLIMIT_AS, (mapped + margin, mapped + margin))


def _no_children(_: str) -> None:
    """``fork`` and what is like it fail with EAGAIN, as beyond RLIMIT_NPROC, which does not bind root."""

    def refused(*args: object, **kwargs: object) -> Any:
        raise _error(errno.EAGAIN)

    import _posixsubprocess

    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    for module, names in (
        (os, ("fork", "forkpty", "posix_spawn", "posix_spawnp")),
        (_posixsubprocess, ("fork_exec",)),
        (sys.modules.get("subprocess"), ("_fork_exec",)),
    ):
        for name in names:
            if hasattr(module, name):
                setattr(module, name, refused)


def _no_space(prefix: str) -> None:
    """What would take room beneath `prefix` fails with ENOSPC."""
    prefix = prefix.rstrip("/") or "/dev/shm"
    under = prefix + "/"

    def there(file: object) -> bool:
        try:
            path = os.readlink(f"/proc/self/fd/{file}") if isinstance(file, int) else os.fspath(file)  # type: ignore[call-overload]
        except (OSError, TypeError):
            return False
        return os.fsdecode(path).startswith(under)

    def failing(real: Callable[..., Any], makes: Callable[..., bool]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if makes(*args, **kwargs):
                raise _error(errno.ENOSPC, prefix)
            return real(*args, **kwargs)

        return call

    def takes_room(file: object, *args: object, **kwargs: object) -> bool:
        return there(file)

    def makes_a_file(path: object, flags: int = 0, *args: object, **kwargs: object) -> bool:
        return bool(flags & os.O_CREAT) and there(path)

    def makes_a_segment(name: object, flags: int = 0, *args: object, **kwargs: object) -> bool:
        return bool(flags & os.O_CREAT)

    os.posix_fallocate = failing(os.posix_fallocate, takes_room)
    os.ftruncate = failing(os.ftruncate, takes_room)
    os.open = failing(os.open, makes_a_file)
    if prefix == "/dev/shm":
        # Not in the type stubs.
        module: Any = importlib.import_module("_posixshmem")
        module.shm_open = failing(module.shm_open, makes_a_segment)


def _port_in_use(_: str) -> None:
    """The next socket that is bound to a port, and only that one, finds it taken."""
    import socket

    pending = [True]

    def binding(real: Callable[..., Any], refused: Callable[[object], BaseException | None]) -> Any:
        def bind(self: Any, address: Any) -> Any:
            if pending:
                error = refused(address)
                if error is not None:
                    pending.clear()
                    raise error
            return real(self, address)

        return bind

    def by_socket(address: object) -> BaseException | None:
        return _error(errno.EADDRINUSE) if isinstance(address, tuple) else None

    socket.socket.bind = binding(socket.socket.bind, by_socket)  # type: ignore[method-assign]
    zmq = sys.modules.get("zmq")
    if zmq is not None:

        def by_zmq(address: object) -> BaseException | None:
            taken: BaseException = zmq.ZMQError(errno.EADDRINUSE)
            return taken if str(address).startswith("tcp") else None

        zmq.Socket.bind = binding(zmq.Socket.bind, by_zmq)
