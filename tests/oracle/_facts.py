"""Hand-made facts of one case of one target, clean unless a test says otherwise.

The target ``m:Engine.__init__`` makes five calls: a pool (holds descriptors), a scheduler (holds nothing that
a probe sees), a freeze of the collector, a log file, and a start. The fault comes in the last of them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from faultinject.facts import (
    Acquisition,
    Case,
    CaseResult,
    Item,
    Left,
    Observation,
    Owned,
    Point,
    Raised,
    Recording,
    ReleaseCall,
    StateChange,
    Step,
)
from faultinject.oracle import judge

TARGET = "m:Engine.__init__"
CALLEE = "m:start"
POINT = Point("steps", "before", TARGET, CALLEE, 1, file="m.py", line=9, step=5)
CASE = Case("0123abcd", POINT, "RuntimeError")
DESCRIPTOR = Acquisition("fds", "7", Item("fd 7 -> pipe", group="pipe"), 1, (TARGET,))
RECORDING = Recording(
    target="m:Engine",
    level="steps",
    points=(POINT,),
    steps=(Step(1, "m:Pool.__init__", 6, acquired=(DESCRIPTOR,)), Step(2, "m:Scheduler.__init__", 7)),
    owned=(
        Owned("pool", 1, "m:Pool.__init__", "close", "self.pool", ("+1 fds",), order=2),
        Owned("scheduler", 2, "m:Scheduler.__init__", "shutdown", "self.scheduler", order=1),
        Owned("GC freeze", 3, "gc:freeze", "gc.unfreeze", "", ("GC frozen",)),
        Owned("log", 4, "posix:open", "posix.close", "", ("+1 fds",)),
    ),
    frame=TARGET,
    attributes=("pool", "scheduler"),
    objects={"pool": "m:Pool.__init__#1", "scheduler": "m:Scheduler.__init__#1"},
    holds=(("fds", 1),),
)
RAISED = Raised("RuntimeError", "injected", True)
POOL_CLOSED = ReleaseCall("pool", "close", TARGET, True, sequence=2)
SCHEDULER_SHUT_DOWN = ReleaseCall("scheduler", "shutdown", TARGET, True, sequence=1)


def seen(**facts: Any) -> Observation:
    """The observation of a clean case, but for `facts`."""
    releases = facts.get("releases", (SCHEDULER_SHUT_DOWN, POOL_CLOSED))
    usual: dict[str, Any] = {
        "reached": True,
        "stage": "done",
        "place": "m.py:9",
        "fault_stack": (TARGET,),
        "step": 5,
        "raised": RAISED,
        "owned": ("pool", "scheduler"),
        "releases": releases,
        "prompt_releases": len(releases),
        "retry": "ok",
        "exit_status": 0,
    }
    return Observation("0123abcd", "zygote", **(usual | facts))


def verdict(_recording: Recording = RECORDING, _case: Case = CASE, /, **facts: Any) -> CaseResult:
    return judge(seen(**facts), _case, _recording)


def recording(**changes: Any) -> Recording:
    return msgspec.structs.replace(RECORDING, **changes)


def left(**changes: Any) -> Left:
    """What is left of the log file, but for `changes`."""
    return msgspec.structs.replace(Left("fds", "7", DESCRIPTOR.item, TARGET, False, "exit", 4), **changes)


def changed(**changes: Any) -> StateChange:
    usual = StateChange("gc", "freeze_count", "gc.freeze_count", "0", "1000", TARGET, False, "never")
    return msgspec.structs.replace(usual, **changes)


def raised(**changes: Any) -> Raised:
    return msgspec.structs.replace(RAISED, **changes)
