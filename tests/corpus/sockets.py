"""Sockets. An object that dies with the exception is given back late; one that is kept is a leak."""

from __future__ import annotations

import socket

from tests.corpus._parts import configure, unique
from tests.corpus._specimen import Specimen, at

_LISTENERS: dict[str, socket.socket] = {}


class ForgottenListener:
    """Leaves its socket in a table of all listeners."""

    def __init__(self) -> None:
        self._name = unique("listener")
        listener = socket.socket(socket.AF_UNIX)
        _LISTENERS[self._name] = listener
        listener.bind(f"\0{self._name}")
        listener.listen()
        self.size = configure()

    def close(self) -> None:
        _LISTENERS.pop(self._name).close()


class ClosedListener:
    """The same, done right."""

    def __init__(self) -> None:
        self._name = unique("listener")
        try:
            listener = socket.socket(socket.AF_UNIX)
            _LISTENERS[self._name] = listener
            listener.bind(f"\0{self._name}")
            listener.listen()
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        listener = _LISTENERS.pop(self._name, None)
        if listener is not None:
            listener.close()


class LateSocket:
    """Relies on the last reference to close its socket, which the exception's traceback holds."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.size = configure()

    def close(self) -> None:
        self._socket.close()


class PromptSocket:
    """The same, done right."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.size = configure()
        except BaseException:
            self._socket.close()
            raise

    def close(self) -> None:
        self._socket.close()


_ME = "tests.corpus.sockets"
SPECIMENS = (
    Specimen(
        f"{_ME}:ForgottenListener",
        "socket",
        "a listening socket is forgotten",
        (at("*bind", "leak"), at("*listen", "leak"), at("*:configure", "leak")),
    ),
    Specimen(f"{_ME}:ClosedListener", "socket"),
    Specimen(
        f"{_ME}:LateSocket", "late", "a socket is closed by its finalizer only", (at("*:configure", "late"),)
    ),
    Specimen(f"{_ME}:PromptSocket", "late"),
)
