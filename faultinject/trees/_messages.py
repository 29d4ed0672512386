"""What the sweep and a conductor say to each other, and what is seen of one case."""

from __future__ import annotations

import socket
from typing import Union

import msgspec

from faultinject.targets import TargetSpec


class Setup(msgspec.Struct, frozen=True, tag=True):
    """The first message to a conductor.

    Attributes:
        fresh: start a fresh interpreter for each case, instead of a fork of the conductor.
        private: keep ``/dev/shm`` apart, in a mount namespace, where that is allowed.
    """

    spec: TargetSpec
    directory: str
    fresh: bool = False
    private: bool = True


class Run(msgspec.Struct, frozen=True, tag=True):
    """Run the target once.

    Attributes:
        role, milestone: where the fault comes; empty to record.
        fault: as `TreeFault.text`; empty to record.
        deadline: seconds from the fault in which every process must be gone.
        limit: seconds the whole may take.
    """

    case: str = ""
    role: str = ""
    milestone: str = ""
    fault: str = ""
    deadline: float = 5.0
    limit: float = 120.0


class Farewell(msgspec.Struct, frozen=True, tag=True):
    pass


class Ready(msgspec.Struct, frozen=True, tag=True):
    """A conductor has imported its target."""

    version: str = ""
    private: bool = False
    """Whether ``/dev/shm`` is its own."""
    ignore: tuple[str, ...] = ()


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The target cannot be swept."""

    message: str
    original: str = ""
    usage: bool = False


class ProcessSeen(msgspec.Struct, frozen=True):
    """One process of the tree.

    Attributes:
        started, ended: seconds since the start of the case.
        status: as `subprocess` gives it, where it could be seen.
        told: how the fault ended or stopped it: a signal's name.
    """

    role: str
    pid: int
    parent: str = ""
    name: str = ""
    started: float = 0.0
    ended: float | None = None
    status: int | None = None
    told: str = ""
    helper: bool = False


class Survivor(msgspec.Struct, frozen=True):
    """A process that was still there when it should have been gone.

    Attributes:
        age: seconds since its start.
        state: R, S, D, T or Z, as ``/proc`` says.
        holds: shared memory with its size, listening sockets, device files.
    """

    role: str
    pid: int
    age: float
    state: str
    command: str
    holds: tuple[str, ...] = ()


class MilestoneSeen(msgspec.Struct, frozen=True):
    """A milestone that was reached `at` seconds after the start, while the pids of `alive` were there."""

    role: str
    name: str
    at: float
    alive: tuple[int, ...] = ()


class TreeObservation(msgspec.Struct, frozen=True, tag=True):
    """Everything seen of one case, from outside; no opinion.

    Attributes:
        reached: the role came to the milestone.
        done: the fault was done there.
        why_not: why it was not, where the milestone was reached.
        victim: role of the process that the fault was done to.
        injected: type and message of the exception that was raised.
        raised: type and text of what left the target in the caller, then of each exception it leads to.
        returned: the target returned in the caller; `returned_before`: it had when the fault came.
        gone_after: seconds from the fault until no process was left; `None` if the deadline came first.
        shared: names in ``/dev/shm`` that are left, with their size, and the role last seen to hold each.
        files: temporary files and sockets that are left.
        ports: that survivors listen at.
    """

    case: str
    reached: bool = False
    done: bool = False
    why_not: str = ""
    victim: str = ""
    injected: tuple[str, str] = ("", "")
    caller_status: int | None = None
    caller_ended: bool = False
    raised: tuple[tuple[str, str], ...] = ()
    returned: bool = False
    returned_before: bool = False
    release_error: str = ""
    processes: tuple[ProcessSeen, ...] = ()
    survivors: tuple[Survivor, ...] = ()
    shared: tuple[tuple[str, int, str], ...] = ()
    files: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    milestones: tuple[MilestoneSeen, ...] = ()
    missing: tuple[str, ...] = ()
    """Functions of milestones that their modules do not have."""
    refused: int = 0
    """Connections of processes that are none of the tree's."""
    gone_after: float | None = None
    timed_out: bool = False
    """Whether the limit of the whole case ended it, not the deadline."""
    timeline: tuple[tuple[float, str], ...] = ()
    output: str = ""
    seconds: float = 0.0
    runner: str = "zygote"


Message = Union[Setup, Run, Farewell, Ready, Failed, TreeObservation]  # noqa: UP007

_decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


def send(connection: socket.socket, message: Message) -> None:
    """Send a message with its length before it."""
    body = msgspec.json.encode(message)
    connection.sendall(len(body).to_bytes(4, "big") + body)


def receive(connection: socket.socket) -> Message | None:
    """The next message; `None` when the other end is gone."""
    head = _exactly(connection, 4)
    body = _exactly(connection, int.from_bytes(head, "big")) if head else b""
    return _decoder.decode(body) if body else None


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        try:
            part = connection.recv(size - len(data))
        except ConnectionError:
            return b""
        if not part:
            return b""
        data += part
    return bytes(data)
