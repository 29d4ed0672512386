"""A service with a pool of worker threads: whatever fails while it starts, nothing of it stays."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
from collections.abc import Callable
from typing import Any

Task = Callable[[], Any]


class WorkerPool:
    """Threads that take tasks from a queue until they are told to stop."""

    def __init__(self, size: int) -> None:
        self.tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self.threads: list[threading.Thread] = []
        try:
            for number in range(size):
                self.start_worker(number)
        except BaseException:
            self.close()
            raise

    def start_worker(self, number: int) -> None:
        thread = threading.Thread(target=self.work, name=f"worker-{number}", daemon=True)
        # Known before it runs: if the call fails when the thread is there, `close` still ends it.
        self.threads.append(thread)
        thread.start()

    def work(self) -> None:
        while (task := self.tasks.get()) is not None:
            task()

    def close(self) -> None:
        begun = [thread for thread in self.threads if thread.ident is not None]
        for _ in begun:
            self.tasks.put(None)
        for thread in begun:
            thread.join()


class Service:
    """Listens, and lets a pool of workers answer."""

    def __init__(self, workers: int) -> None:
        with contextlib.ExitStack() as undo:
            self.listener = socket.socket()
            undo.callback(self.listener.close)
            self.listener.bind(("127.0.0.1", 0))
            self.pool = WorkerPool(workers)
            undo.callback(self.pool.close)
            self.listener.listen()
            undo.pop_all()

    def close(self) -> None:
        self.pool.close()
        self.listener.close()
