"""A stand-in for an inference engine, in a hundredth of its size: this is no vLLM, and holds no model.

What a plugin's author needs of an engine is here: plugins are objects with a name and a `load`, as the
entry points of the group ``vllm.general_plugins`` are; what `load` returns is called before the engine is
built, and may put an executor of its own in place of the engine's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, Protocol


class Plugin(Protocol):
    """What an entry point of ``vllm.general_plugins`` is to the engine."""

    name: str

    def load(self) -> Callable[[], None]: ...


class Executor:
    """The engine's own: a pipe to where the workers would be."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()

    def shutdown(self) -> None:
        os.close(self.writer)
        os.close(self.reader)


class Engine:
    """Registers the plugins, builds an executor, warms up."""

    executor_class: Callable[[], Any] = Executor

    def __init__(self, plugins: Iterable[Plugin] = ()) -> None:
        for plugin in plugins:
            plugin.load()()
        self.executor = Engine.executor_class()
        try:
            self.warm_up()
        except BaseException:
            self.executor.shutdown()
            raise

    def warm_up(self) -> None:
        """Where a real engine would measure how much memory there is."""

    def shutdown(self) -> None:
        self.executor.shutdown()
        Engine.executor_class = Executor
