"""Ports that are held from the moment at which they are found until somebody listens on them.

Upstream finds a free port, lets go of it and has a worker bind it some seconds later; by then it can be
somebody else's.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from multiprocessing import util

TRIES = 100


class HeldPorts:
    """Ports, each by a socket that is bound and does not listen.

    A socket that may share its address, as a server's, binds and listens beside it on Linux
    (``SO_REUSEADDR`` in socket(7)); the kernel gives the port to nobody who asks for any, and refuses those
    who may not share it.

    Args:
        find: finds a free port.
    """

    def __init__(self, find: Callable[[], int]) -> None:
        self._find = find
        self._sockets: list[socket.socket] = []
        # A worker that is forked would hold them for as long as it lives.
        util.register_after_fork(self, HeldPorts.close)

    def get(self) -> int:
        """A free port, held from here on; where no socket can be had to hold it, free as it was found.

        Raises:
            OSError: each of those that were found was taken at once.
        """
        for _ in range(TRIES):
            port = self._find()
            try:
                self._hold(port)
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    continue
                # No IPv4 here, say.
            return port
        raise OSError(errno.EADDRINUSE, f"{os.strerror(errno.EADDRINUSE)}, {TRIES} ports one after the other")

    def _hold(self, port: int) -> None:
        holding = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._sockets.append(holding)
        try:
            holding.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holding.bind(("", port))
        except OSError:
            self._sockets.pop().close()
            raise

    def close(self) -> None:
        """Let go of all."""
        while self._sockets:
            self._sockets.pop().close()
