"""The agent's state in this process, what it does at a milestone, and how it comes into a child."""

from __future__ import annotations

import atexit
import functools
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from ._link import ask
from ._refusing import refuse
from ._trust import SOCKET, read_plan
from ._wrap import WhenImported, around

UP = "process up"
EXIT = "process exit"
CALLER = "faultinject.trees._caller"
"""Module that runs the target in an interpreter of its own; it says itself where it is."""

_HELPERS = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")
_FORKED_BY = ("popen_fork.py", "forkserver.py")
_LONGEST_ARGUMENT = 500


class _State:
    def __init__(self) -> None:
        self.path = ""
        """Of the socket; empty while nothing is armed."""
        self.reached: set[str] = set()
        self.prepared = False
        self.hooked = False
        self.missing: list[str] = []


_state = _State()


def prepare(milestones: list[dict[str, str]]) -> None:
    """Wrap the functions of the milestones; they do nothing before this process, or a copy of it, is armed.

    For a process that imports the target and is then forked: a wrapper that comes after the import would
    miss what has taken a reference to the function meanwhile.
    """
    if _state.prepared:
        return
    _state.prepared = True
    wanted: dict[str, list[tuple[str, Any]]] = {}
    for one in milestones:
        module, _, qualname = one["at"].partition(":")

        def reached(name: str = one["name"], role: str = one["role"]) -> None:
            arrive(name, role)

        wanted.setdefault(module, []).append((qualname, around(one["phase"], reached)))
    wanted.setdefault("multiprocessing.process", []).append(("BaseProcess._bootstrap", _around_bootstrap))

    def lacks(name: str) -> None:
        if not say("missing", text=name):
            _state.missing.append(name)

    WhenImported(wanted, lacks).install()


def arm(directory: str, how: str) -> bool:
    """Make this process one of the tree whose plan is in `directory`; whether it is.

    Args:
        how: ``caller``: forked from a process with the target imported, which says itself where it is.
            ``site``: a fresh interpreter.
    """
    plan = read_plan(directory)
    if plan is None:
        return False
    _state.path = os.path.join(directory, SOCKET)
    _state.reached.clear()
    # What makes an injected exception; after everything of the process's own, and only where it fits.
    if list(sys.version_info[:2]) == plan["python"] and plan["root"] not in sys.path:
        sys.path.append(plan["root"])
    argv = [argument[:_LONGEST_ARGUMENT] for argument in sys.orig_argv[:50]]
    helper = next((h for h in _HELPERS if any(h in argument for argument in argv)), "")
    # The name of a process that multiprocessing spawns comes later, in `_bootstrap`.
    awaited = how == "site" and "--multiprocessing-fork" in argv
    say("hello", argv=argv, helper=helper)
    if not _state.hooked:
        _state.hooked = True
        os.register_at_fork(after_in_child=_state.reached.clear)
        os.fork = _around_fork(os.fork)
    if "resource_tracker" not in helper:
        # Those that a fork server will fork have what it has.
        prepare(plan["milestones"])
    if how == "site" and not (awaited or helper or CALLER in argv):
        atexit.register(arrive, EXIT)
        arrive(UP)
    return True


def missing() -> tuple[str, ...]:
    """Functions of milestones that this process's modules turned out not to have, while it was not armed."""
    return tuple(_state.missing)


def say(kind: str, **facts: object) -> dict[str, Any]:
    """Tell the conductor, and wait until it has heard."""
    if not _state.path:
        return {}
    return ask(_state.path, {"kind": kind, **facts})


def arrive(name: str, role: str = "", **facts: object) -> None:
    """Come to a milestone, for the first time in this process, and wait until the conductor lets it go on.

    Raises:
        BaseException: what is injected here, or what a signal handler raised while it waited.
    """
    key = f"{role}\n{name}"
    if not _state.path or key in _state.reached:
        return
    _state.reached.add(key)
    answer = say("at", name=name, role=role, **facts)
    what = answer.get("do", "go")
    if what == "refuse":
        refuse(answer["what"])
    if what == "raise":
        from faultinject.faults import make, parse_fault

        raise make(parse_fault(answer["fault"]), answer["place"])


def _around_fork(fork: Callable[[], int]) -> Callable[[], int]:
    """A child is up when ``os.fork`` returns in it.

    Not in a callback of ``os.register_at_fork``: what a signal handler raises there, while it waits, is lost.
    """

    @functools.wraps(fork)
    def forked() -> int:
        pid = fork()
        if pid == 0 and not _names_itself(sys._getframe(1)):
            arrive(UP)
        return pid

    return forked


def _names_itself(frame: FrameType | None) -> bool:
    """Whether what forked is `multiprocessing`, which then runs `_bootstrap`, where the name is known."""
    while frame is not None:
        if os.path.basename(frame.f_code.co_filename) in _FORKED_BY:
            return True
        frame = frame.f_back
    return False


def _around_bootstrap(function: Any) -> Any:
    """``multiprocessing`` runs each of its children in ``BaseProcess._bootstrap``, forked or spawned."""

    def _bootstrap(self: Any, *args: Any, **kwargs: Any) -> Any:
        arrive(UP, process=str(self.name))
        try:
            return function(self, *args, **kwargs)
        finally:
            arrive(EXIT)

    return _bootstrap
