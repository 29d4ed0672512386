"""What programs construct: `LLM`, `LLMEngine` and `AsyncLLM`, as transactions around the engine beneath.

Upstream's have started an engine, and then do more that can fail: the caller never gets the object, and the
engine lives until the traceback of that failure is collected.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import Any

from engine._executors import give_back_groups, restore_process
from engine._rebound import globals_of, rebound
from engine._standin import Making, Standin, recording
from engine._transaction import OwnershipTransaction, transactional
from engine.background._client import answers_in_time
from engine.background._ending import end_for_good

ORDER = ("renderer", "engine core", "output handler")
"""Of ``AsyncLLM.shutdown``."""


def hardened_llm_init(upstream: Callable[..., None], options: dict[str, Any]) -> Callable[..., None]:
    """``LLM.__init__`` as a transaction.

    Args:
        upstream: vLLM's own.
        options: of the `OwnershipTransaction`.
    """

    @transactional("LLM", **options)
    @functools.wraps(upstream)
    def __init__(self: Any, transaction: OwnershipTransaction, *args: Any, **kwargs: Any) -> None:
        kind = globals_of(upstream)["LLMEngine"]
        with contextlib.ExitStack() as start:

            def from_engine_args(*arguments: Any, **keywords: Any) -> Any:
                make = getattr(kind.from_engine_args, "__func__", None)
                if make is None:  # somebody has put something else there
                    engine = transaction.acquire(
                        "engine", kind.from_engine_args, *arguments, release=END_ENGINE, keywords=keywords
                    )
                else:
                    engine = make(Making(kind, transaction, "engine", END_ENGINE), *arguments, **keywords)
                start.enter_context(answers_in_time(engine.engine_core))
                return engine

            rebound(upstream, LLMEngine=Standin(kind, from_engine_args=from_engine_args))(
                self, *args, **kwargs
            )

    return __init__


def hardened_factory(upstream: Any, options: dict[str, Any]) -> Any:
    """``LLMEngine.from_engine_args``, and others that make an engine of their class, as transactions.

    Args:
        upstream: vLLM's own, a classmethod.
        options: of the `OwnershipTransaction`.
    """
    plain: Callable[..., Any] = upstream.__func__

    @transactional(plain.__qualname__, **options)
    @functools.wraps(plain)
    def make(cls: Any, transaction: OwnershipTransaction, *args: Any, **kwargs: Any) -> Any:
        # Whoever passes one owns it already.
        kind = cls if isinstance(cls, Making) else Making(cls, transaction, "engine", END_ENGINE)
        return plain(kind, *args, **kwargs)

    return classmethod(make)


def hardened_engine_init(upstream: Callable[..., None], options: dict[str, Any]) -> Callable[..., None]:
    """``LLMEngine.__init__`` and ``AsyncLLM.__init__`` as transactions.

    Args:
        upstream: vLLM's own.
        options: of the `OwnershipTransaction`.
    """

    @transactional(upstream.__qualname__.partition(".")[0], order=ORDER, **options)
    @functools.wraps(upstream)
    def __init__(self: Any, transaction: OwnershipTransaction, *args: Any, **kwargs: Any) -> None:
        transaction.own("output handler", self, release=_cancel_handler)
        names = globals_of(upstream)
        kind = names["EngineCoreClient"]
        renderer = recording(transaction, "renderer", names["renderer_from_config"], end_renderer)
        with contextlib.ExitStack() as start:

            def client_by(make: Callable[..., Any]) -> Callable[..., Any]:
                def making(*arguments: Any, **keywords: Any) -> Any:
                    client = make(*arguments, **keywords)
                    start.enter_context(answers_in_time(client))
                    return client

                return making

            makers = _makers(kind, transaction)
            clients = {name: client_by(make) for name, make in makers.items()}
            rebound(upstream, EngineCoreClient=Standin(kind, **clients), renderer_from_config=renderer)(
                self, *args, **kwargs
            )

    return __init__


def _makers(kind: Any, transaction: OwnershipTransaction) -> dict[str, Callable[..., Any]]:
    """The functions of ``EngineCoreClient`` that make a client: it is owned as its constructor ends.

    Upstream's hand it on, one to the other, and a signal on the way would lose it.
    """
    makers: dict[str, Callable[..., Any]] = {}
    # In the order in which one calls another.
    for name in ("make_async_mp_client", "make_client"):
        make = getattr(kind, name)
        names = globals_of(make) if inspect.isfunction(inspect.unwrap(make)) else {}
        clients = {
            each: Making(one, transaction, "engine core", (end_client,))
            for each, one in names.items()
            if inspect.isclass(one) and issubclass(one, kind) and one is not kind
        }
        if not clients:  # somebody has put something else there
            makers[name] = recording(transaction, "engine core", make, end_client)
            continue
        for each, one in names.items():
            if one is kind:
                clients[each] = Standin(kind, **makers)  # type: ignore[assignment]
        makers[name] = rebound(make, **clients)
    return makers


def end_client(client: Any) -> None:
    """Shut a client of an engine core down; one in this process with all that its executor set up here.

    Upstream's shutdown of such a core ends every process group there is, also those of the caller.
    """
    core: Any = getattr(client, "engine_core", None)
    executor = getattr(core, "model_executor", None)
    if executor is None:
        if "resources" in vars(client):
            end_for_good(client)
        else:  # of another kind
            client.shutdown()
        return
    finalizer = vars(client).get("_finalizer")
    if finalizer is not None:
        finalizer.detach()
    with contextlib.ExitStack() as steps:
        steps.callback(restore_process, executor)
        steps.callback(give_back_groups, executor)
        steps.callback(rebound(type(core).shutdown, cleanup_dist_env_and_memory=_nothing), core)


END_ENGINE = (
    lambda engine: end_renderer(getattr(engine, "renderer", None)),
    lambda engine: end_client(engine.engine_core),
    lambda engine: _cancel_handler(engine),
)
"""How an engine is ended whose start has failed, in the `ORDER`; an `LLMEngine` has no method for it."""


def _nothing() -> None:
    """In place of what would end more than was set up."""


def end_renderer(renderer: Any) -> None:
    """End the threads of a renderer, in versions in which it has any."""
    shutdown = getattr(renderer, "shutdown", None)
    if callable(shutdown):
        shutdown()


def _cancel_handler(engine: Any) -> None:
    """Cancel the task in which an `AsyncLLM` hands answers out, if it has begun."""
    task = vars(engine).get("output_handler")
    if task is not None:
        with contextlib.suppress(RuntimeError):  # its loop is closed, and the task with it
            task.get_loop().call_soon_threadsafe(task.cancel)
