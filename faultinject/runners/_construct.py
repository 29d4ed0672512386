"""Calling a target: once, alone or under a tracker, and giving its result back."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from faultinject.backends import HARNESS
from faultinject.errors import TargetError
from faultinject.targets import Target

if TYPE_CHECKING:
    # Imported where it is used: what a process has loaded, each fork of it pays for.
    import asyncio

Outcome = tuple[Any, BaseException | None]

_RELEASE_NAMES = (
    "shutdown",
    "close",
    "aclose",
    "stop",
    "terminate",
    "cleanup",
    "release",
    "dispose",
    "server_close",
)


def invoke(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Outcome:
    """Call the target; its frames are those called from here."""
    try:
        return function(*arguments, **keywords), None
    except BaseException as exception:
        return None, exception


async def _invoke_async(
    function: Callable[..., Any], arguments: tuple[Any, ...], keywords: Mapping[str, Any]
) -> Outcome:
    try:
        return await function(*arguments, **keywords), None
    except BaseException as exception:
        return None, exception


HARNESS.update({invoke.__code__, _invoke_async.__code__})


class Constructor:
    """Constructs one target's object, as often as asked, in this process.

    A coroutine function runs in an event loop that lives as long as the case, as in a real program.
    """

    def __init__(self, target: Target, release: str = "") -> None:
        self.target = target
        self.release_name = release or target.release
        self.loop: asyncio.AbstractEventLoop | None = None
        self.pid = os.getpid()
        """Of the process whose construction this is."""
        if target.is_async:
            import asyncio

            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)

    def prepare(self) -> Any:
        """What `construct` calls; outside of the target."""
        return self.target.prepare()

    def construct(self, call: Any) -> Outcome:
        function, arguments, keywords = call
        # Never in a variable: the traceback holds the frame of `invoke`, that frame holds this one as its
        # caller, and the exception would hold itself.
        outcome: list[Outcome] = []
        if self.loop is None:
            outcome.append(invoke(function, arguments, keywords))
        else:
            outcome.append(self._run(_invoke_async(function, arguments, keywords)))
        if os.getpid() != self.pid:
            # The target forked, and its child came back as if it were the caller: it would judge the case
            # a second time. A daemon's parent, which leaves in the middle, never comes here.
            os._exit(0)
        return outcome.pop()

    def breathe(self) -> None:
        """Let the event loop run what is ready."""
        if self.loop is not None and not self.loop.is_closed():
            import asyncio

            for _ in range(3):
                self._run(asyncio.sleep(0))

    def find_release(self, result: Any) -> str:
        """Name of what gives `result` back: as told, else by convention, else ``""``."""
        if self.release_name:
            return self.release_name
        if result is None or isinstance(result, (str, bytes, int, float, tuple, list, dict, set)):
            return ""
        for name in _RELEASE_NAMES:
            if callable(getattr(result, name, None)):
                return name
        return "__exit__" if hasattr(type(result), "__exit__") else ""

    def releaser(self, result: Any, context: Any = None) -> tuple[Callable[..., Any], tuple[Any, ...]] | None:
        """The callable and arguments that give `result` back, or `None`.

        Args:
            context: the bound ``__enter__`` the target was, whose ``__exit__`` then is its release.
        """
        owner = getattr(context, "__self__", None)
        if getattr(context, "__name__", "") in ("__enter__", "__aenter__") and owner is not None:
            name = "__exit__" if context.__name__ == "__enter__" else "__aexit__"
            return getattr(owner, name), (None, None, None)
        name = self.find_release(result)
        if not name:
            return None
        if ":" in name:
            module, _, attribute = name.partition(":")
            try:
                function: Any = importlib.import_module(module)
                for part in attribute.split("."):
                    function = getattr(function, part)
            except (ImportError, AttributeError) as error:
                raise TargetError(
                    f"--release {name}: {error}; write it as module:function, "
                    "or as a method of what the target returns"
                ) from None
            return function, (result,)
        method = getattr(result, name, None)
        if not callable(method):
            raise TargetError(
                f"target {self.target.name} returns a {type(result).__qualname__}, "
                f"which has no method {name!r}; "
                "name what gives it back with --release NAME or --release module:function"
            )
        return method, ((None, None, None) if name in ("__exit__", "__aexit__") else ())

    def release(self, result: Any, context: Any = None) -> BaseException | None:
        """Give `result` back; what the release raised, if it did."""
        found = self.releaser(result, context)
        if found is None:
            return None
        function, arguments = found
        if inspect.iscoroutinefunction(function) or self.loop is not None:
            outcome = self._run(_release_async(function, arguments))
        else:
            outcome = invoke(function, arguments, {})
        failure: BaseException | None = outcome[1]
        return failure

    def close(self) -> None:
        """Close the loop of an asynchronous target, tasks cancelled, as `asyncio.run` would."""
        if self.loop is None or self.loop.is_closed():
            return
        import asyncio

        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self._run(_gather(tasks))
        self.loop.close()
        asyncio.set_event_loop(None)

    def _run(self, coroutine: Any) -> Any:
        loop = self.loop
        if loop is None:
            import asyncio

            loop = self.loop = asyncio.new_event_loop()
        return loop.run_until_complete(coroutine)


async def _release_async(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
    try:
        value = function(*arguments)
        if inspect.isawaitable(value):
            value = await value
        return value, None
    except BaseException as exception:
        return None, exception


async def _gather(tasks: set[asyncio.Task[Any]]) -> None:
    import asyncio

    await asyncio.gather(*tasks, return_exceptions=True)


HARNESS.add(_release_async.__code__)


def has_device() -> bool:
    """Whether torch has initialised a CUDA device in this process; a fork cannot use it then."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    try:
        return bool(cuda is not None and cuda.is_initialized())
    except Exception:
        return False
