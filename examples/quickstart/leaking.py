"""A client whose constructor can fail half-way, and then keeps what it had opened."""

from __future__ import annotations

import os
import selectors


class Client:
    """Waits for messages on a pipe."""

    def __init__(self) -> None:
        self.inbox, self.outbox = os.pipe()
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.inbox, selectors.EVENT_READ)
        self.send(b"hello")

    def send(self, message: bytes) -> None:
        os.write(self.outbox, message)

    def close(self) -> None:
        self.selector.close()
        os.close(self.inbox)
        os.close(self.outbox)
