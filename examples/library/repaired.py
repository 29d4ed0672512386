"""What `feed.py` looks like when it is repaired: the gate then says what to take off its list."""

from __future__ import annotations

import os
import socket


class FeedClient:
    """Reads a feed from a socket; a pipe wakes the reader."""

    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        try:
            self.woken, self.wake = os.pipe()
            try:
                self.subscribe("news")
            except BaseException:
                os.close(self.wake)
                os.close(self.woken)
                raise
        except BaseException:
            self.theirs.close()
            self.ours.close()
            raise

    def subscribe(self, topic: str) -> None:
        self.ours.sendall(topic.encode())

    def close(self) -> None:
        os.close(self.wake)
        os.close(self.woken)
        self.theirs.close()
        self.ours.close()
