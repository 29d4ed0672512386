"""What this process says to the conductor, and what it is told.

Each message has a connection of its own, which lives until it is answered: no descriptor of ours is open
while the target runs, none is inherited, and a signal handler that comes to a milestone while its thread
waits at another needs no lock.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
from typing import Any

_reserve: list[int] = []
"""A descriptor that is kept for the next connection, in a process that may open no other."""


def ask(path: str, message: dict[str, Any]) -> dict[str, Any]:
    """Send a message and wait for the answer; an empty one if nobody is there any more.

    What a signal handler raises while this waits comes out of it, as out of any other call.
    """
    try:
        with _connection(path) as connection:
            connection.sendall(json.dumps(message).encode())
            answer = connection.recv(1 << 16)
    except OSError:
        return {}
    finally:
        if _reserve and _reserve[0] < 0:
            keep_in_reserve()
    return dict(json.loads(answer)) if answer else {}


def _connection(path: str) -> socket.socket:
    try:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE) or not _reserve or _reserve[0] < 0:
            raise
        os.close(_reserve[0])
        _reserve[0] = -1
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.connect(path)
    except BaseException:
        connection.close()
        raise
    return connection


def keep_in_reserve() -> None:
    """Keep a descriptor for the next connection; asked for before this process may open no more."""
    with contextlib.suppress(OSError):
        _reserve[:] = [os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)]
