"""The process that calls the target: what a program of the user's would be."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import types
from typing import Any

from faultinject.trees._declared import READY, UP

_LONGEST = 4000


def become(log: str, temporary: str) -> None:
    """Set this process apart: its own session, output, temporary directory and signal handlers."""
    with_log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(with_log, 1)
    os.dup2(with_log, 2)
    os.close(with_log)
    os.close(null)
    os.environ["TMPDIR"] = temporary
    tempfile.tempdir = None
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # A child that is spawned imports its parent's main module: there is none that it would need.
    sys.modules["__main__"] = types.ModuleType("__main__")


def call(target: Any, release: str, agent: Any) -> None:
    """Call the target and give its result back, as a program does that wants nothing else.

    Args:
        target: a `Target`.
        release: how the result is given back; as `Constructor` takes it.
        agent: this process's.

    Raises:
        BaseException: what left the target, or its release.
    """
    from faultinject.runners._construct import Constructor

    constructor = Constructor(target, release)
    prepared = constructor.prepare()
    agent.arrive(UP)
    result, failure = constructor.construct(prepared)
    if failure is not None:
        agent.say("left", raised=chain(failure))
        raise failure
    try:
        agent.arrive(READY)
    finally:
        failure = constructor.release(result, prepared[0])
        del result
        if failure is not None:
            agent.say("left", raised=chain(failure), release=True)
            raise failure
    constructor.close()


def chain(error: BaseException) -> list[tuple[str, str]]:
    """Type and text of an exception, then of each that it leads to: causes, contexts, members, notes."""
    found: list[tuple[str, str]] = []
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting and len(found) < 50:
        one = waiting.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        try:
            text = str(one)
        except Exception as problem:
            text = f"<no text: {type(problem).__name__}>"
        notes = [str(note) for note in getattr(one, "__notes__", ())]
        found.append((type(one).__name__, "\n".join([text, *notes])[:_LONGEST]))
        waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
    return found


def main() -> None:
    """``python -m faultinject.trees._caller NAME RELEASE DIRECTORY``: a caller in a fresh interpreter."""
    from faultinject.runners._zygote import load
    from faultinject.targets import TargetSpec

    agent: Any = sys.modules.get("_faultinject_agent")
    if agent is None:
        raise SystemExit("started by hand: there is no conductor")
    name, release, directory = sys.argv[1:4]
    target = load(TargetSpec(name, release, directory))
    sys.argv = [sys.argv[0]]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        call(target, release, agent)
    finally:
        from faultinject.trees._declared import EXIT

        agent.arrive(EXIT)


if __name__ == "__main__":
    main()
