"""A target, ready to be called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from faultinject.trees._declared import Milestone


class TargetSpec(msgspec.Struct, frozen=True, tag=True):
    """How a target is named; a plain value that a worker process resolves for itself.

    Attributes:
        name: ``module:callable``, the name of a table under ``[tool.faultinject.targets]``, or a
            built-in such as ``vllm:EngineCore``.
        release: method (or ``module:function``) that gives the result back; ``""`` to find it.
        directory: where ``pyproject.toml`` is looked for and modules are imported from.
        own: globs of frames that are the target's own, beside those that the target names itself.
        path: further folders that modules are imported from, after all others.
    """

    name: str
    release: str = ""
    directory: str = "."
    own: tuple[str, ...] = ()
    path: tuple[str, ...] = ()


Call = tuple[Callable[..., Any], tuple[Any, ...], Mapping[str, Any]]


@dataclass(frozen=True)
class Target:
    """The callable under test and how its result is given back.

    Attributes:
        name: as the user wrote it.
        prepare: makes the callable and its arguments. Runs before every construction, outside of
            the target: nothing is injected into it and what it acquires is not the target's.
        release: method of the result that gives it back, or ``module:function`` called with it;
            ``""`` where none is known.
        is_async: whether the callable is a coroutine function.
        screen: let the fork runner screen this target although it starts threads or makes names on
            disk, because its clean-up is known not to disturb the original process.
        version: of the package the target comes from, for the reports.
        environment: variables that must be set before the target is imported.
        warm_up: imports what the construction will import, so that a process forked afterwards need not;
            builds nothing.
        ignore: probe keys (globs ``probe:key``) that are not this target's.
        own: globs of ``module:qualname``. A frame that one fits is the target's own, as is the one that the
            tool calls, where every frame between the two is: each of its calls is a fault point, and what is
            charged to it is a violation.
        in_copy: called in each forked copy of the process that is to screen a case, before its fault: makes
            the copy fit to tear down without the threads that it lacks, and returns globs ``probe:key`` of
            what a copy cannot give back for that reason. A screen does not judge these; a whole run does.
        is_block: whether it is no callable but a block of code, which begins where the process is forked.
    """

    name: str
    prepare: Callable[[], Call]
    release: str = ""
    is_async: bool = False
    screen: bool = False
    version: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    warm_up: Callable[[], object] | None = None
    own: tuple[str, ...] = ()
    in_copy: Callable[[], tuple[str, ...]] | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    milestones: tuple[Milestone, ...] = ()
    is_block: bool = False
