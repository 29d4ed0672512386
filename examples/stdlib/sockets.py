"""Targets that listen: socketserver's TCPServer, a subclass of it, and a listener that is lent."""

from __future__ import annotations

import os
import socket
from socketserver import BaseRequestHandler, TCPServer

_ANY_PORT = ("127.0.0.1", 0)


def port_server() -> TCPServer:
    """Open a server (row M29). The ordinary trigger is a port that is taken."""
    return TCPServer(_ANY_PORT, BaseRequestHandler)


def load_settings() -> dict[str, str]:
    """The step of `ConfiguredServer` that can fail once the base class has opened the socket."""
    return {"greeting": "hello"}


class ConfiguredServer(TCPServer):
    """A server that reads its settings after it has opened its socket (row M31).

    The base class closes its socket when its own constructor fails. It cannot when this one does.
    """

    def __init__(self) -> None:
        super().__init__(_ANY_PORT, BaseRequestHandler)
        self.settings = load_settings()


_listeners: dict[int, socket.socket] = {}


def lent_listener() -> socket.socket:
    """The one listening socket of this process, made before the target runs."""
    if os.getpid() not in _listeners:
        _listeners[os.getpid()] = socket.create_server(_ANY_PORT)
    return _listeners[os.getpid()]


class BorrowingServer:
    """Serves on a socket that its caller lends, and leaves it open whatever happens."""

    def __init__(self, listener: socket.socket) -> None:
        self.listener = listener
        self._own = socket.socket()
        try:
            self.settings = load_settings()
        except BaseException:
            self._own.close()
            raise

    def close(self) -> None:
        self._own.close()


class OverzealousServer:
    """The same, but its clean-up closes what was lent: wrong, and the twin of the one above."""

    def __init__(self, listener: socket.socket) -> None:
        self.listener = listener
        self._own = socket.socket()
        try:
            self.settings = load_settings()
        except BaseException:
            self._own.close()
            self.listener.close()
            raise

    def close(self) -> None:
        self._own.close()
