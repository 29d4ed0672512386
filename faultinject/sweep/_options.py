"""What a sweep is asked to do."""

from __future__ import annotations

import os
from typing import Final, Literal

import msgspec

from faultinject.errors import UsageError
from faultinject.facts import Level
from faultinject.filters import PointFilter
from faultinject.points import replay_command
from faultinject.runners import Settings
from faultinject.targets import TargetSpec

Runner = Literal["auto", "fork", "zygote", "spawn"]
Confirm = Literal["auto", "each", "class", "none"]
TRIES: Final = 5
"""Runs of a case, at most, of which `Options.repeats` have to agree."""

_OF_A_CASE: Final = {
    "level": "--level",
    "depth": "--depth",
    "faults": "--fault",
    "times": "--times",
    "second": "--second",
    "second_faults": "--second-faults",
    "time_limit": "--time-limit",
    "settle": "--settle",
    "deadline": "--deadline",
    "backend": "--backend",
    "attributes": "--patch",
    "include_finalizers": "--finalizers",
    "include_cleanup": "--cleanup",
    "probes": "--probe",
    "without": "--without-probe",
    "ignore": "--ignore",
}
"""What decides which cases there are, and what one is judged by: the option that each stands for."""

_IN_ONE_WORD: Final = ("faults", "second_faults")


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """A sweep, as asked for.

    Attributes:
        faults: names, as ``--fault`` takes them.
        times: 1 once, k a window of k calls that then recovers, 0 persistent.
        second: whether each release of the clean-up also fails, for each case.
        second_faults: what happens to it: what ``--second-faults`` takes.
        runner: ``auto`` screens by fork where a copy sees everything, and runs the rest in a zygote.
        confirm: ``each`` non-clean verdict of a screen, one of each ``class`` of cases that unwind
            alike, or ``none``; ``auto`` is ``each`` where that takes less than half a minute.
        repeats: how often a verdict must be seen, of at most `tries` runs, before it accuses.
        time_limit: seconds a case may take; 0 derives it from the recording.
        cover: globs of modules whose lines are told that run while a fault is on its way.
        limit: most points at level ``nth``, sampled with `seed`; 0 for all.
        matrices: folder of a matrix whose declared ownership table is used; empty for none.

    Raises:
        UsageError: `repeats` is less than one, or more than `tries`: no verdict could ever accuse.
    """

    target: TargetSpec
    level: Level = "steps"
    depth: int = 4
    faults: tuple[str, ...] = ("RuntimeError", "KeyboardInterrupt")
    times: int = 1
    second: bool = False
    second_faults: tuple[str, ...] = ("RuntimeError", "KeyboardInterrupt", "hang")
    filter: PointFilter = PointFilter()
    runner: Runner = "auto"
    confirm: Confirm = "auto"
    jobs: int = 0
    repeats: int = 3
    tries: int = TRIES
    time_limit: float = 0.0
    settle: float = 0.5
    deadline: float = 5.0
    backend: str = ""
    attributes: tuple[str, ...] = ()
    include_finalizers: bool = False
    include_cleanup: bool = False
    probes: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    cover: tuple[str, ...] = ()
    limit: int = 0
    seed: int = 0
    matrices: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.repeats <= self.tries:
            raise UsageError(f"repeats is {self.repeats}: give a number from 1 to {self.tries}")

    @property
    def lanes(self) -> int:
        return self.jobs or max(1, len(os.sched_getaffinity(0)))

    def replay(self, identifier: str) -> str:
        """The command that runs one case of this sweep again, whatever was swept last."""
        return replay_command(identifier, self.replay_words())

    def replay_words(self) -> tuple[str, ...]:
        """What that command has after the id: the target, and what is not as usual."""
        target = self.target
        words = ["--target", target.name]
        if target.release:
            words += ["--release", target.release]
        for glob in target.own:
            words += ["--own", glob]
        usual = Options(target=target)
        for name, option in _OF_A_CASE.items():
            value = getattr(self, name)
            if value == getattr(usual, name) or (name == "second_faults" and not self.second):
                continue
            if isinstance(value, bool):
                words.append(option)
            elif name in _IN_ONE_WORD:
                words += [option, ",".join(value)]
            else:
                for one in value if isinstance(value, tuple) else [value]:
                    words += [option, str(one)]
        if self.runner == "spawn":
            # Any other runs a single case in a zygote.
            words += ["--runner", self.runner]
        if self.matrices:
            words += ["--matrices", os.path.relpath(self.matrices)]
        directory = os.path.relpath(target.directory)
        if directory != os.curdir:
            words += ["--directory", directory]
        return tuple(words)

    def settings(self, seconds: float = 0.0) -> Settings:
        """What a worker is told; `seconds` is what one construction took."""
        limit = self.time_limit or (max(10.0, 20.0 * seconds) if seconds else 120.0)
        return Settings(
            level=self.level,
            depth=self.depth,
            backend=self.backend,
            attributes=self.attributes,
            include_finalizers=self.include_finalizers,
            include_cleanup=self.include_cleanup,
            time_limit=limit,
            settle=self.settle,
            deadline=self.deadline,
            probes=self.probes,
            without=self.without,
            ignore=self.ignore,
            cover=self.cover,
        )
