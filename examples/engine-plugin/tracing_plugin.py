"""A plugin that puts an executor with a trace file into the engine.

In a package it would be named in its pyproject.toml::

    [project.entry-points."vllm.general_plugins"]
    tracing = "tracing_plugin:register"
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable

from standin_engine import Engine, Executor


class TracingExecutor(Executor):
    """The engine's executor, and a thread that writes a trace beside it."""

    def __init__(self) -> None:
        super().__init__()
        try:
            self.trace, self.path = tempfile.mkstemp(suffix=".trace")
            try:
                self.stop = threading.Event()
                self.thread = threading.Thread(target=self.write, daemon=True)
                try:
                    self.thread.start()
                except BaseException:
                    self.end()
                    raise
            except BaseException:
                os.close(self.trace)
                os.unlink(self.path)
                raise
        except BaseException:
            super().shutdown()
            raise

    def end(self) -> None:
        self.stop.set()
        if self.thread.ident is not None:
            self.thread.join()

    def write(self) -> None:
        self.stop.wait()
        os.write(self.trace, b"end\n")

    def shutdown(self) -> None:
        self.end()
        os.close(self.trace)
        os.unlink(self.path)
        super().shutdown()


def register() -> None:
    """What the entry point names: called by the engine before it builds anything."""
    Engine.executor_class = TracingExecutor


class EntryPoint:
    """Stands for the installed entry point of this plugin."""

    name = "tracing"

    def load(self) -> Callable[[], None]:
        return register


def plugins() -> list[EntryPoint]:
    return [EntryPoint()]
