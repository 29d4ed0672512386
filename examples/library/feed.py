"""A library's client whose constructor can fail half-way, and then keeps what it had opened."""

from __future__ import annotations

import os
import socket


class FeedClient:
    """Reads a feed from a socket; a pipe wakes the reader.

    `close` gives everything back. A constructor that fails after its first line keeps the descriptors: the
    one known defect of this library, and the baseline says until when it may stay.
    """

    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.woken, self.wake = os.pipe()
        self.subscribe("news")

    def subscribe(self, topic: str) -> None:
        self.ours.sendall(topic.encode())

    def close(self) -> None:
        os.close(self.wake)
        os.close(self.woken)
        self.theirs.close()
        self.ours.close()
