"""What the sweep and its worker processes say to each other: msgspec JSON in length-prefixed frames.

Nothing is pickled, and every message is a plain value.
"""

from __future__ import annotations

import socket
import struct
from typing import Union

import msgspec

from faultinject.facts import Case, Level, Observation, Owned, Point, Step
from faultinject.targets import TargetSpec

_HEADER = struct.Struct("!I")
_LARGEST = 256 * 1024 * 1024


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How cases are run; the same for a whole sweep.

    Attributes:
        depth: frames that tell two stacks apart at level ``stacks``.
        backend: name of a backend, ``""`` for the interpreter's own.
        attributes: ``module:qualname`` of what the patching backend wraps.
        time_limit: seconds a case may take, construction included.
        settle: seconds after which what is left is taken as left.
        deadline: seconds that a clean-up may take.
        probes, without: probes to look through, or to leave out; empty for all.
        ignore: globs ``probe:key`` of what is not the target's.
        cover: globs of modules whose lines are told that run while a fault is on its way.
    """

    level: Level = "steps"
    depth: int = 4
    backend: str = ""
    attributes: tuple[str, ...] = ()
    include_finalizers: bool = False
    include_cleanup: bool = False
    time_limit: float = 60.0
    settle: float = 0.5
    deadline: float = 5.0
    probes: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    cover: tuple[str, ...] = ()


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """What the recording says a case needs to know while it runs."""

    owners: dict[str, str] = {}
    residue: tuple[tuple[str, str, int], ...] = ()
    attributes: tuple[str, ...] = ()
    holds: tuple[tuple[str, int], ...] = ()
    release: str = ""
    seconds: float = 0.0
    owned: tuple[Owned, ...] = ()
    """The ownership table, where second faults are asked for."""
    second_owners: dict[str, str] = {}
    """As `owners`, of objects whose release is not judged by being called, but may be failed."""


class Record(msgspec.Struct, frozen=True, tag=True):
    settings: Settings
    twice: bool = True
    release: str = ""


class RunCase(msgspec.Struct, frozen=True, tag=True):
    case: Case
    settings: Settings
    expectation: Expectation
    retry: bool = True
    verbose: bool = False


class Screen(msgspec.Struct, frozen=True, tag=True):
    """Run the target once and fork at each point of `cases`."""

    cases: tuple[Case, ...]
    settings: Settings
    expectation: Expectation
    jobs: int = 1


class Farewell(msgspec.Struct, frozen=True, tag=True):
    pass


class Ready(msgspec.Struct, frozen=True, tag=True):
    """A worker has imported its target."""

    version: str
    is_async: bool
    screen: bool
    device_initialised: bool
    seconds: float
    absent: tuple[tuple[str, str], ...] = ()
    """Probes that cannot look here, and why."""
    release: str = ""


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The target cannot be swept, or an order could not be carried out."""

    message: str
    original: str = ""
    usage: bool = False


class Recorded(msgspec.Struct, frozen=True, tag=True):
    """What one unharmed run showed."""

    points: tuple[Point, ...]
    stacks: tuple[tuple[str, ...], ...]
    steps: tuple[Step, ...]
    owned: tuple[Owned, ...]
    owners: dict[str, str]
    residue: tuple[tuple[str, str, int], ...]
    unreleased: tuple[tuple[str, str, int], ...]
    holds: tuple[tuple[str, int], ...]
    attributes: tuple[str, ...]
    release: str
    seconds: float
    capped: int
    notes: tuple[str, ...] = ()
    frame: str = ""
    release_counts: tuple[tuple[str, int], ...] = ()
    modules: tuple[tuple[str, str], ...] = ()
    """(name, file) of the modules that `Settings.cover` fits."""


class Observed(msgspec.Struct, frozen=True, tag=True):
    observation: Observation


class Done(msgspec.Struct, frozen=True, tag=True):
    """An order is finished."""

    message: str = ""


Message = Union[Record, RunCase, Screen, Farewell, Ready, Failed, Recorded, Observed, Done, TargetSpec]  # noqa: UP007

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Message] | None = None


def encode(message: object) -> bytes:
    """A message with its length before it."""
    body = _encoder.encode(message)
    return _HEADER.pack(len(body)) + body


def decode(body: bytes) -> Message:
    """The message in `body`."""
    global _decoder
    if _decoder is None:
        _decoder = msgspec.json.Decoder(Message)
    return _decoder.decode(body)


class Frames:
    """Splits a stream of bytes into message bodies."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        self._data += data
        bodies: list[bytes] = []
        while len(self._data) >= _HEADER.size:
            (size,) = _HEADER.unpack_from(self._data)
            if size > _LARGEST:
                raise ValueError(f"a message of {size} bytes")
            if len(self._data) < _HEADER.size + size:
                break
            bodies.append(bytes(self._data[_HEADER.size : _HEADER.size + size]))
            del self._data[: _HEADER.size + size]
        return bodies


def send(connection: socket.socket, message: object) -> None:
    connection.sendall(encode(message))


def receive(connection: socket.socket) -> Message | None:
    """The next message, or `None` when the other end is gone."""
    header = _receive_exactly(connection, _HEADER.size)
    if header is None:
        return None
    body = _receive_exactly(connection, _HEADER.unpack(header)[0])
    return decode(body) if body is not None else None


def _receive_exactly(connection: socket.socket, size: int) -> bytes | None:
    parts: list[bytes] = []
    while size:
        part = connection.recv(min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
