"""How each target is swept; a sweep of all of them takes a few seconds a target."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultinject.facts import CaseResult
from faultinject.filters import PointFilter
from faultinject.sweep import Options, Sweep
from faultinject.targets import TargetSpec

OWN = ("tests.ownership.targets*:[!C]*", "engine.*:*")
"""The wrapper, the constructor beneath it and the transaction are one constructor in several frames. Not its
channels: between the return of `os.pipe` and its result being stored no signal is held."""


@dataclass(frozen=True)
class Judged:
    """A target, and the cases of it that show something.

    Attributes:
        target: ``module:callable``.
        level: as `faultinject.sweep.Options`.
        faults: likewise.
        names: points to choose; empty for every point.
        runner: as `level`; ``auto`` where a copy of the process shows everything.
        own: frames that are the target's own.
        release: gives the result back; empty to find it.
        ignore: as `level`.
        cleanup: also within calls that release something, such as an ``__exit__``.
        usual: verdicts that are none against the target here.
        seconds: a case may take; what is to end by a deadline takes a fraction of it.
    """

    target: str
    level: str = "steps"
    faults: tuple[str, ...] = ("RuntimeError",)
    names: tuple[str, ...] = ("callee=configure",)
    seconds: float = 5.0
    runner: str = "zygote"
    own: tuple[str, ...] = OWN
    release: str = "close"
    usual: tuple[str, ...] = ()
    cleanup: bool = False
    ignore: tuple[str, ...] = ()

    @property
    def at_the_end(self) -> bool:
        """Whether only the last step is made to fail."""
        return self.names == ("callee=configure",)

    @property
    def name(self) -> str:
        """Short and unique."""
        said = self.target.partition(":")[2]
        return said if self.level == "steps" else f"{said}, {self.level}"


_LIGHT, _STUCK, _SIGNALS, _FROZEN, _ENTRY, _OF_VLLM = (
    f"tests.ownership.targets{end}" for end in ("", "_stuck", "_signals", "_frozen", "_entry", "_vllm")
)


_FROZEN_FROM_THE_START = ("gc:freeze_count",) if gc.get_freeze_count() else ()
"""CPython 3.12 starts with a few hundred: what the tool notes while they are frozen again is frozen with
them. FrozenBefore looks there, and leaves it some room."""

_FALLS_BACK = (f"{_SIGNALS}:F*", "engine._transaction:*", "engine._signals:*")


def _interrupted(target: str, number: str, around: str = "*.construct") -> Judged:
    """A target whose rollback is interrupted at each of its instructions."""
    frames = (around, "*.rollback", "HeldSignals.hold", "HeldSignals.let_go", "HeldSignals.resend")
    return Judged(
        f"{_SIGNALS}:{target}",
        level="opcodes",
        faults=(number,),
        names=tuple(f"caller={one}" for one in frames),
        runner="auto",
        own=_FALLS_BACK,
        # A signal that was held comes out elsewhere than it went in.
        usual=("traceback",),
        cleanup=around == "*.__exit__",
    )


_EXECUTOR = ("vllm.v1.executor.*:*Executor*", "engine.*:*")

JUDGED = (
    Judged(f"{_LIGHT}:SecondFaults"),
    Judged(f"{_SIGNALS}:Supervised"),
    Judged(f"{_STUCK}:Stuck"),
    Judged(f"{_LIGHT}:InOrder", faults=("KeyboardInterrupt",)),
    Judged(f"{_LIGHT}:SomeDidNotCome"),
    Judged(f"{_LIGHT}:WithAlarm"),
    Judged(f"{_LIGHT}:Unprepared"),
    Judged(f"{_LIGHT}:Prepared"),
    Judged(f"{_LIGHT}:EndsWithItsLastReference"),
    Judged(f"{_LIGHT}:AsksAgain"),
    Judged(f"{_LIGHT}:Misused"),
    Judged(f"{_LIGHT}:Threads"),
    Judged(f"{_STUCK}:StuckEscalation"),
    Judged(f"{_STUCK}:EndsAfterEscalation"),
    Judged(f"{_STUCK}:TakesItsTime"),
    Judged(f"{_STUCK}:StubbornChild"),
    Judged(f"{_STUCK}:TidyChild"),
    Judged(f"{_STUCK}:NoThreadToBeHad"),
    Judged(f"{_STUCK}:RestoresItsHandler"),
    Judged(f"{_SIGNALS}:SupervisedBlock"),
    Judged(f"{_SIGNALS}:EndedBySigterm", own=()),
    Judged(f"{_SIGNALS}:InAnotherThread", own=()),
    Judged(f"{_SIGNALS}:Holds", own=()),
    Judged(f"{_SIGNALS}:Freezes", ignore=_FROZEN_FROM_THE_START),
    Judged(f"{_FROZEN}:FrozenBefore", seconds=20.0),
    Judged(f"{_FROZEN}:FrozenBeforeOnly", seconds=20.0),
    *(
        Judged(f"{_ENTRY}:{name}")
        for name in (
            "LLM",
            "Traced",
            "KeptElsewhere",
            "LostOnTheWay",
            "OfAnotherKind",
            "Asynchronous",
            "LosesItsClient",
            "HandsItsClientOn",
            "HasOtherMakers",
            "Made.from_engine_args",
            "LoopClosed",
            "Synchronous",
            "Scheduler",
        )
    ),
    Judged(f"{_LIGHT}:Plain", faults=("RuntimeError", "KeyboardInterrupt"), names=(), runner="auto"),
    Judged(f"{_LIGHT}:InABlock", faults=("RuntimeError", "KeyboardInterrupt"), names=(), runner="auto"),
    Judged(f"{_LIGHT}:Plain", level="opcodes", faults=("SIGINT",), names=(), runner="auto"),
    # What is no signal's doing must not be taken for one.
    Judged(f"{_SIGNALS}:FallsBackUntilItIsToEnd", names=("callee=HeldSignals.hold",), own=_FALLS_BACK),
    _interrupted("FallsBack", "SIGINT"),
    _interrupted("FallsBackUntilItIsToEnd", "SIGTERM"),
    _interrupted("FallsBackFromABlock", "SIGINT", "*.__exit__"),
)


HEAVY = (
    # Both of the places below, around parts that show more.
    Judged(f"{_OF_VLLM}:GivenBack", own=(), seconds=60.0),
    # The last step but one: the executor, the manager, the scheduler and the freeze are owned.
    Judged("engine:EngineCore", names=("callee=enable_envs_cache",), own=(), seconds=0.0, release=""),
    # Within the executor's own construction: the worker and its process groups are there.
    Judged(
        "engine:EngineCore",
        names=("callee=Worker.load_model",),
        own=_EXECUTOR,
        seconds=0.0,
        release="",
    ),
)
"""For the parts of `engine` that know vLLM; half a minute each, and more on a machine that has other work."""


def sweep(judged: Judged, directory: Path, reporter: Any, jobs: int = 1) -> None:
    """Sweep it; modules are looked for in `directory` first.

    Raises:
        TargetError: it fails without any fault.
    """
    Sweep(
        Options(
            target=TargetSpec(judged.target, judged.release, str(directory), judged.own),
            level=judged.level,  # type: ignore[arg-type]
            faults=judged.faults,
            filter=PointFilter(names=judged.names, phases=("before",)),
            runner=judged.runner,  # type: ignore[arg-type]
            jobs=jobs,
            repeats=1,
            time_limit=judged.seconds,
            settle=0.2,
            include_cleanup=judged.cleanup,
            ignore=judged.ignore,
        ),
        reporter,
    ).run()


def is_red(result: CaseResult, judged: Judged) -> bool:
    """Whether a case shows something wrong, in whichever frame.

    A signal that nobody hears of is lost: unlike an exception, it is not for a constructor to handle.
    """
    if result.verdict == "handled":
        return any(fault.startswith("SIG") for fault in judged.faults)
    return result.violation and result.verdict not in judged.usual
