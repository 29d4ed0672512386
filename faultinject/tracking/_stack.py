"""Which activations of which frames are on the target's stack."""

from __future__ import annotations

from itertools import count
from types import FrameType

from faultinject.tracking._ledger import Path
from faultinject.tracking._names import frame_name

GENERATOR = 0x20 | 0x80 | 0x200
"""Code flags of generators, coroutines and asynchronous generators."""


class ShadowStack:
    """The stack beneath the target as numbers: frames themselves would keep their variables alive.

    Each activation has a serial number of its own; a generator or coroutine keeps its number from one
    resumption to the next, so that what it received before it was suspended is still its own after.

    Attributes:
        ids: id of each frame, the target's first. Used directly by the tracker: it is asked at every call.
        serials: the number of each activation.
    """

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.serials: list[int] = []
        self.next_serial = count(1).__next__
        self._suspended: dict[int, int] = {}

    def push(self, frame: FrameType) -> bool:
        """Put a frame that begins, or goes on, on top; whether it begins."""
        fresh = True
        if frame.f_code.co_flags & GENERATOR:
            serial = self._suspended.get(id(frame), 0)
            fresh = serial == 0
            if fresh:
                serial = self._suspended[id(frame)] = self.next_serial()
        else:
            serial = self.next_serial()
        self.ids.append(id(frame))
        self.serials.append(serial)
        return fresh

    def pop(self, identity: int, *, ended: bool = True) -> None:
        """Take a frame off, with all above it whose end was not reported.

        Args:
            ended: false where a generator is only suspended.
        """
        ids, serials = self.ids, self.serials
        if ids and ids[-1] == identity:
            ids.pop()
            serials.pop()
        elif identity in ids:
            while ids:
                serials.pop()
                if ids.pop() == identity:
                    break
        if ended and self._suspended:
            self._suspended.pop(identity, None)

    def replace(self, frames: list[tuple[FrameType, int]]) -> None:
        """Take over a stack that a backend knows by itself, with a number for each activation."""
        self.ids[:] = [id(frame) for frame, _ in frames]
        # Below zero, so that no activation shares its number with a C call.
        self.serials[:] = [-number for _, number in frames]

    def clear(self) -> None:
        self.ids.clear()
        self.serials.clear()

    def path(self, frame: FrameType | None) -> Path:
        """Activations from the target's frame to `frame`."""
        names: dict[int, str] = {}
        wanted = set(self.ids)
        while frame is not None:
            if id(frame) in wanted:
                names[id(frame)] = frame_name(frame)
            frame = frame.f_back
        return tuple(
            (serial, names[identity])
            for identity, serial in zip(self.ids, self.serials, strict=True)
            if identity in names
        )
