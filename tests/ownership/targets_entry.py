"""Entry points and a scheduler in small, under the wrappers that `engine` puts around vLLM's. No vLLM.

They have the names and methods by which those wrappers know vLLM's. What a rollback leaves out is a
descriptor that stays open, and so is one that it complains of, or that it gives back in another way than
the resource's own.
"""

from __future__ import annotations

import functools
import logging
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import engine._executors
from engine import StartupError
from engine._entry_points import hardened_engine_init, hardened_factory, hardened_llm_init
from engine._scheduler import hardened_scheduler_init
from engine.background._told import Told, hear_from
from tests.ownership.targets import Channel, configure


class _Complains(logging.Handler):
    """Nothing here fails to be released: to hear of anything leaves two descriptors open."""

    def emit(self, record: logging.LogRecord) -> None:
        os.pipe()


LOUD = logging.Logger("loud")
LOUD.addHandler(_Complains())
OPTIONS: dict[str, Any] = {"logger": LOUD}


def cleanup_dist_env_and_memory() -> None:
    """Ends more than a construction has set up."""
    os.pipe()


class Renderer(Channel):
    """One with threads; those of earlier versions have no ``shutdown``.

    It says its last word to the engine core, and so goes first.
    """

    def __init__(self) -> None:
        super().__init__()
        self.says = -1

    def shutdown(self) -> None:
        if self.says != -1:
            os.write(self.says, b"the end")
        self.close()


class Process(Channel):
    """An engine's, as it is watched."""

    name, exitcode = "engine", None

    def __init__(self) -> None:
        super().__init__()
        self.pid = os.getpid()

    def is_alive(self) -> bool:
        return False


class Context(Channel):
    """Of the client's sockets."""

    def destroy(self, linger: int) -> None:
        self.close()


class Client(Channel):
    """Of an engine in another process, which does not answer."""

    def __init__(self) -> None:
        super().__init__()
        process = Process()
        self.told = Told(0.1)
        self.told.attach(multiprocessing, lambda **_: process, {"kwargs": {}})
        self.told.started()
        manager = SimpleNamespace(processes=[process], shutdown=lambda: None)
        hear_from(manager, self.told)
        self.resources = SimpleNamespace(engine_manager=manager, ctx=Context())
        self._finalizer = SimpleNamespace(alive=True)
        self.utility_results: dict[int, Future[None]] = {}

    def collect(self) -> None:
        """What goes of it with its last reference."""
        self.resources.ctx.close()
        self.resources.engine_manager.processes[0].close()

    def ask(self) -> None:
        """Wait for an answer; that none comes is known once the engine's time is over."""
        asked = self.utility_results[1] = Future()
        with suppress(StartupError):
            asked.result()

    def shutdown(self) -> None:
        self.told.close()
        self.close()
        self._finalizer.alive = False


class ClientHere:
    """Of an engine core in this process: its own shutdown, and its finalizer, would do too much."""

    def __init__(self, finalizer: bool) -> None:
        self.engine_core = Core()
        if finalizer:
            self._finalizer = Finalizer()

    def ask(self) -> None: ...

    def shutdown(self) -> None:
        cleanup_dist_env_and_memory()


class Finalizer(Channel):
    detach = Channel.close


class Core(Channel):
    """Its executor has set something up in this process."""

    def __init__(self) -> None:
        super().__init__()
        groups, state = Channel(), Channel()
        self.model_executor = SimpleNamespace()
        vars(self.model_executor)[engine._executors._SET_UP] = (
            SimpleNamespace(give_back=groups.close),
            SimpleNamespace(restore=state.close),
        )

    def shutdown(self) -> None:
        cleanup_dist_env_and_memory()
        self.close()


class Task(Channel):
    """Of a loop that runs in another thread, or is closed and has ended it."""

    def __init__(self, closed: bool) -> None:
        super().__init__()
        self.closed = closed
        if closed:
            self.close()

    def get_loop(self) -> Task:
        return self

    def call_soon_threadsafe(self, call: Callable[[], object]) -> None:
        if self.closed:
            raise RuntimeError("the loop is closed")
        call()

    cancel = Channel.close


class LLMEngine:
    """What `LLM` makes."""

    fails_late = False
    """Whether the function that makes it does more when it has it."""

    def __init__(self, renderer: object) -> None:
        self.renderer = renderer
        self.engine_core = Client()
        if isinstance(renderer, Renderer):
            renderer.says = self.engine_core.ends[1]

    @classmethod
    def from_engine_args(cls, renderer: object) -> LLMEngine:
        made = cls(renderer)
        if cls.fails_late:
            configure()
        return made


class LLM:
    """An engine whose renderer has threads."""

    def __init__(self) -> None:
        self.llm_engine = LLMEngine.from_engine_args(Renderer())
        self.llm_engine.engine_core.ask()
        self.size = configure()

    def close(self) -> None:
        self.llm_engine.renderer.shutdown()  # type: ignore[attr-defined]
        self.llm_engine.engine_core.shutdown()
        self.llm_engine.engine_core.collect()


def traced(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decoration; one of its cells is empty."""

    @functools.wraps(function)
    def wrapper(made: Any, *args: Any) -> Any:
        made.decorated = True
        return function(made, *args) if made else empty

    if not callable(wrapper):
        empty = None
    return wrapper


class Kept:
    """A decoration that keeps what it wraps as an attribute, and cannot be copied."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        raise AssertionError("it is to be left out")


class Traced(LLM):
    """One whose constructor somebody has decorated.

    Raises:
        RuntimeError: the decoration was left out.
    """

    decorated = False

    @traced
    def __init__(self) -> None:
        if not self.decorated:
            raise RuntimeError("the decoration is gone")
        self.llm_engine = LLMEngine.from_engine_args(Renderer())
        self.size = configure()


class KeptElsewhere(LLM):
    """Likewise, in another way; its renderer has no threads."""

    @Kept
    def __init__(self) -> None:
        self.llm_engine = LLMEngine.from_engine_args(None)
        self.size = configure()

    def close(self) -> None:
        self.llm_engine.engine_core.shutdown()
        self.llm_engine.engine_core.collect()


class OtherClient(Channel):
    """One that nothing is known of but how it is shut down."""

    def ask(self) -> None: ...

    def collect(self) -> None: ...

    shutdown = Channel.close


class OtherEngine(SimpleNamespace):
    """Made by a function that somebody has put in the place of the class's own."""

    @staticmethod
    def from_engine_args(renderer: Renderer) -> OtherEngine:
        return OtherEngine(renderer=renderer, engine_core=OtherClient())


class LostOnTheWay(LLM):
    """The function that makes its engine fails when it has it."""

    def __init__(self) -> None:
        LLMEngine.fails_late = True
        super().__init__()


class OfAnotherKind(LLM):
    def __init__(self) -> None:
        LLMEngine.from_engine_args = OtherEngine.from_engine_args  # type: ignore[assignment,method-assign]
        super().__init__()


for one in (LLM, Traced, KeptElsewhere):
    one.__init__ = hardened_llm_init(one.__init__, OPTIONS)  # type: ignore[misc]


class EngineCoreClient:
    """What makes clients; the process's own engine core has a finalizer in some of its versions."""

    fails_late = False
    """Whether these functions do more when they have one."""

    @staticmethod
    def make_client(here: bool, finalizer: bool) -> Any:
        if here:
            return KnownClientHere(finalizer)
        made = EngineCoreClient.make_async_mp_client(here, finalizer)
        configure()
        return made

    @staticmethod
    def make_async_mp_client(here: bool, finalizer: bool) -> Any:
        made = KnownClientHere(finalizer) if here else KnownClient()
        if EngineCoreClient.fails_late:
            configure()
        return made


class KnownClient(Client, EngineCoreClient):
    """A client as those functions know it."""


class KnownClientHere(ClientHere, EngineCoreClient):
    """Likewise."""


class OtherMakers(EngineCoreClient):
    """Somebody has put functions of his own there."""

    make_client = make_async_mp_client = functools.partial(lambda here, finalizer: Client())


def renderer_from_config() -> Renderer:
    return Renderer()


class Asynchronous:
    """An engine core in another process, and a task that has begun."""

    here = finalizer = closed = False

    def __init__(self) -> None:
        self.renderer = renderer_from_config()
        self.engine_core = EngineCoreClient.make_async_mp_client(self.here, self.finalizer)
        if not self.here:
            self.renderer.says = self.engine_core.ends[1]
        self.engine_core.ask()
        self.output_handler: Task | None = Task(self.closed)
        self.size = configure()

    def close(self) -> None:
        self.renderer.shutdown()
        self.engine_core.shutdown()
        if not self.here:
            self.engine_core.collect()
        if self.output_handler is not None and not self.closed:
            self.output_handler.cancel()


class LoopClosed(Asynchronous):
    """An engine core in this process, and a task whose loop is closed."""

    here = closed = True


class Synchronous(LoopClosed):
    """An engine core in this process that has a finalizer, and no task yet."""

    finalizer = True

    def __init__(self) -> None:
        self.output_handler = None
        self.renderer = renderer_from_config()
        self.engine_core = EngineCoreClient.make_client(self.here, self.finalizer)
        self.size = configure()


class LosesItsClient(Asynchronous):
    """The function that makes its client fails when it has it."""

    def __init__(self) -> None:
        EngineCoreClient.fails_late = True
        super().__init__()


class HandsItsClientOn(Asynchronous):
    """Its client is made by one function that calls another."""

    def __init__(self) -> None:
        self.output_handler = None
        self.renderer = renderer_from_config()
        self.engine_core = EngineCoreClient.make_client(self.here, self.finalizer)
        self.renderer.says = self.engine_core.ends[1]
        self.size = configure()


class HasOtherMakers(Asynchronous):
    def __init__(self) -> None:
        EngineCoreClient.make_async_mp_client = OtherMakers.make_async_mp_client  # type: ignore[method-assign,assignment]
        EngineCoreClient.make_client = OtherMakers.make_client  # type: ignore[method-assign,assignment]
        super().__init__()


class Made(Asynchronous):
    """By a function of its class, which fails when it has it."""

    @classmethod
    def from_engine_args(cls) -> Made:
        made = cls()
        configure()
        return made


Made.from_engine_args = hardened_factory(vars(Made)["from_engine_args"], OPTIONS)  # type: ignore[method-assign]

for kind in (Asynchronous, Synchronous, HandsItsClientOn):
    kind.__init__ = hardened_engine_init(kind.__init__, OPTIONS)  # type: ignore[misc]


class Connector(Channel):
    shutdown = Channel.close


class KVConnectorFactory:
    @staticmethod
    def create_connector() -> Connector:
        return Connector()


class EventPublisherFactory:
    @staticmethod
    def create() -> Connector:
        return Connector()


class ECConnectorFactory:
    """Of a configuration that asks for none."""

    @staticmethod
    def create_connector() -> None:
        return None


class Scheduler:
    def __init__(self) -> None:
        self.connector = KVConnectorFactory.create_connector()
        self.publisher = EventPublisherFactory.create()
        ECConnectorFactory.create_connector()
        self.size = configure()

    def close(self) -> None:
        self.publisher.shutdown()
        self.connector.shutdown()


Scheduler.__init__ = hardened_scheduler_init(Scheduler.__init__, OPTIONS)  # type: ignore[misc]
