"""What a reporter is, and what every report says of where it was made."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Protocol

import msgspec

from faultinject.facts import CaseResult, Recording, Summary


class Environment(msgspec.Struct, frozen=True):
    """Where and how a sweep was made.

    Attributes:
        python: full version of the interpreter.
        platform: system, release and machine.
        faultinject: version of this package.
        target_version: of the package the target comes from; empty if unknown.
        backend: how faults were raised.
        runner: how cases were isolated.
        jobs: how many at a time.
        faults: their names, as chosen.
        probes: the names of those that looked.
        absent_probes: by name, why a probe could not look.
        command: the command line, as arguments.
        seed: of what was sampled; ``None`` where nothing was.
        replay: what `faultinject replay` has after the id of a case, to run it as the sweep did.
    """

    python: str
    platform: str
    faultinject: str
    target_version: str = ""
    backend: str = ""
    runner: str = ""
    jobs: int = 1
    faults: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()
    absent_probes: dict[str, str] = {}
    command: tuple[str, ...] = ()
    seed: int | None = None
    replay: tuple[str, ...] = ()


def describe_environment(
    *,
    target_version: str = "",
    backend: str = "",
    runner: str = "",
    jobs: int = 1,
    faults: Sequence[str] = (),
    probes: Sequence[str] = (),
    absent_probes: Mapping[str, str] | None = None,
    command: Sequence[str] = (),
    seed: int | None = None,
    replay: Sequence[str] = (),
) -> Environment:
    """The environment of this process, with what the sweep chose. Arguments as of `Environment`."""
    try:
        version = metadata.version("faultinject")
    except metadata.PackageNotFoundError:
        version = "unknown"
    return Environment(
        python=platform.python_version(),
        # Not platform.platform(): that starts a process on some systems, to find the C library.
        platform=f"{sys.platform} {platform.release()} {platform.machine()}",
        faultinject=version,
        target_version=target_version,
        backend=backend,
        runner=runner,
        jobs=jobs,
        faults=tuple(faults),
        probes=tuple(probes),
        absent_probes={} if absent_probes is None else dict(absent_probes),
        command=tuple(command),
        seed=seed,
        replay=tuple(replay),
    )


class Reporter(Protocol):
    """Is told of a sweep as it goes on.

    Called in the order `start`, any number of `case` and `progress`, `finish`, `close`. A sweep that is
    interrupted calls `finish` with ``complete=False`` if it can, and `close` in every case.
    """

    def start(self, recording: Recording, environment: Environment, total: int) -> None:
        """The sweep begins.

        Args:
            recording: what the unharmed run showed.
            environment: where and how.
            total: cases there will be, those of an earlier report included.
        """
        ...

    def case(self, result: CaseResult) -> None:
        """A case has its verdict. The same id may come again, confirmed: the later one counts."""
        ...

    def progress(self, stage: str, done: int, total: int) -> None:
        """A stage other than judged cases has come so far, such as ``confirm``, 3 of 40."""
        ...

    def finish(self, summary: Summary) -> None:
        """The sweep is over, or was interrupted."""
        ...

    def close(self) -> None:
        """Give back the file or the screen; may be called at any time and more than once."""
        ...
