"""Lifelines for everything that multiprocessing starts from here, and from there, without its asking."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from engine.lifeline._arm import arm
from engine.lifeline._children import register_child, start
from engine.lifeline._errors import LifelineError
from engine.lifeline._link import current_link, link_from

_KEY = "engine.lifeline"
_lock = threading.RLock()


class _Watch:
    """What is put in the place of multiprocessing's functions, and the way back."""

    def __init__(self, grace: float) -> None:
        from multiprocessing import process, spawn

        self.grace = grace
        # Typed as anything: `_bootstrap` is not in the stubs.
        self._process: Any = vars(process)["BaseProcess"]
        self._spawn: Any = spawn
        self._start: Callable[..., None] = self._process.start
        self._bootstrap: Callable[..., int] = self._process._bootstrap
        self._data: Callable[[str], dict[str, Any]] = spawn.get_preparation_data
        watch = self

        def started(process: Any) -> None:
            _tried("a child may outlive this process", start)
            watch._start(process)
            # Between these two the child is known by its own `arm`, or ends by the pipe that it reads from.
            _tried(f"{process.name} may outlive this process", lambda: register_child(process.pid))
            _register_fork_server()

        def bootstrap(process: Any, *args: Any, **keywords: Any) -> int:
            _tried(f"{process.name} may outlive its parent", lambda: arm(grace=watch.grace))
            return watch._bootstrap(process, *args, **keywords)

        def data(name: str) -> dict[str, Any]:
            prepared = watch._data(name)
            try:
                return {_KEY: _Arming(watch.grace), **prepared}
            except LifelineError as error:
                _report("a child may outlive this process", error)
                return prepared

        self._put = (started, bootstrap, data)

    def on(self) -> None:
        started, bootstrap, data = self._put
        self._process.start = started
        self._process._bootstrap = bootstrap
        self._spawn.get_preparation_data = data

    def off(self) -> None:
        # Somebody may have wrapped these in turn: then they stay, and do what the wrapped ones would.
        if self._process.start is self._put[0]:
            self._process.start = self._start
        if self._process._bootstrap is self._put[1]:
            self._process._bootstrap = self._bootstrap
        if self._spawn.get_preparation_data is self._put[2]:
            self._spawn.get_preparation_data = self._data


_watch: _Watch | None = None


def watch_multiprocessing(*, grace: float | None = None) -> bool:
    """From now on every process that multiprocessing starts in this one gets a lifeline, and so do theirs.

    Each is registered right after its start, and arms itself as its first act: a forked one before anything
    else in ``BaseProcess._bootstrap``; one by spawn or from the fork server while the preparation data is
    read (``multiprocessing.spawn.prepare``), before its target is unpickled, which imports the target's
    module. Calling it again changes nothing but the grace.

    A lifeline that cannot be had does not keep a process from starting; it is said on standard error.

    Args:
        grace: seconds for `arm` in the children; None for none, or for what was said before.

    Returns:
        Whether it was off before, and so is the caller's to take back.
    """
    global _watch
    with _lock:
        was_off = _watch is None
        if _watch is None:
            _watch = _Watch(grace or 0.0)
            _watch.on()
        if grace is not None:
            _watch.grace = grace
        return was_off


def unwatch_multiprocessing() -> None:
    """Take back `watch_multiprocessing`; what was started in the meantime keeps its lifeline."""
    global _watch
    with _lock:
        if _watch is not None:
            _watch.off()
            _watch = None


def _tried(doing: str, call: Callable[[], None]) -> None:
    try:
        call()
    except (LifelineError, OSError) as error:
        _report(doing, error)


def _report(doing: str, error: BaseException) -> None:
    print(f"engine.lifeline: {doing}: {error}", file=sys.stderr)


def _register_fork_server() -> None:
    module: Any = sys.modules.get("multiprocessing.forkserver")
    pid = None if module is None else module._forkserver._forkserver_pid
    if pid is not None:
        _tried("the fork server may outlive this process", lambda: register_child(pid))


class _Arming:
    """Becomes a call of `arm_child` when it is unpickled; nothing of it is needed where that cannot be."""

    def __init__(self, grace: float) -> None:
        self.ticket = str(current_link().own_ticket)
        self.grace = grace

    def __reduce__(self) -> tuple[Callable[..., None], tuple[str, dict[str, Any]]]:
        # Plain source, so that it is read even where this package is not found. The search path of the
        # parent comes with the same data, but is set only after all of it has been read.
        known = {"path": sys.path, "ticket": self.ticket, "grace": self.grace}
        return exec, (_SOURCE, known)


_SOURCE = """
import sys
kept = sys.path
try:
    sys.path = path
    from engine.lifeline._multiprocessing import arm_child
    arm_child(ticket, grace)
except Exception as error:
    print(f"engine.lifeline: a child may outlive its parent: {error}", file=sys.stderr)
finally:
    sys.path = kept
"""


def arm_child(ticket: str, grace: float) -> None:
    """In a child that multiprocessing started by spawn or from its fork server: its first act."""
    if link_from(ticket) is not None:
        _tried("this process may outlive its parent", lambda: arm(grace=grace))
    watch_multiprocessing(grace=grace)
