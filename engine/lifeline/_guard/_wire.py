"""What is said between a process and its guardian: one packet each way, of fields divided by NUL."""

from __future__ import annotations

import os

VARIABLE = "ENGINE_LIFELINE"
"""In the environment of an armed process and of what it starts: how to reach the guardian, and who set it."""

LIMIT_S = 1.5
"""Within this many seconds of a death the last descendant is sent SIGKILL, whatever grace it asked for."""

PACKET = 65536
SEPARATOR = b"\0"

SETTING = "ENGINE_LIFELINE_PIDFD"


def use_pidfds() -> bool:
    """Whether the kernel has pidfds, found by trying; ``ENGINE_LIFELINE_PIDFD=0`` says it has none."""
    if os.environ.get(SETTING) == "0":
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError) as error:
        # A full table says nothing of the kernel.
        return isinstance(error, OSError) and error.errno in (24, 23)
    return True


def pack(*fields: str | bytes | int | float) -> bytes:
    """The fields as one packet.

    Raises:
        ValueError: a field has a NUL in it, or they are too long together.
    """
    parts = [field if isinstance(field, bytes) else os.fsencode(str(field)) for field in fields]
    packet = SEPARATOR.join(parts)
    if packet.count(SEPARATOR) != len(parts) - 1 or len(packet) > PACKET:
        raise ValueError("a field with a NUL, or too much for one packet")
    return packet


def unpack(packet: bytes) -> list[str]:
    """The fields of a packet."""
    return [os.fsdecode(part) for part in packet.split(SEPARATOR)]
