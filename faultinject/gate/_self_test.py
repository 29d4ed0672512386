"""The gate made to fail on purpose: a gate that cannot fail is none.

A constructor that keeps what it opened, its twin that gives it back, and a third that makes one call more are
swept in this environment (this interpreter, these probes, this runner), and compared with baselines of each
other, by the same steps as any other sweep.
"""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from faultinject.gate._accept import Grant, accept
from faultinject.gate._baseline import Baseline, read_baseline
from faultinject.gate._compare import CHANGED, FAILED, PASSED
from faultinject.gate._run import Broken, GateSweep, Ran, run_gate
from faultinject.gate._write import write_baseline
from faultinject.reports import Kept
from faultinject.sweep import Options
from faultinject.targets import TargetSpec

_MODULE: Final = """\
import os


class Planted:
    def __init__(self):
        self.reader, self.writer = os.pipe()
        try:
            self.greet()
            {more}
        except BaseException:
            {clean_up}
            raise

    def greet(self):
        os.write(self.writer, b"x")

    def close(self):
        os.close(self.writer)
        os.close(self.reader)
"""
_TWINS: Final = {
    "sound": _MODULE.format(more="pass", clean_up="self.close()"),
    "leaking": _MODULE.format(more="pass", clean_up="pass"),
    "longer": _MODULE.format(more="os.getpid()", clean_up="self.close()"),
}


class Check(NamedTuple):
    """One thing that was tried.

    Attributes:
        what: in words.
        wanted, got: exit statuses.
    """

    what: str
    wanted: int
    got: int


def self_test(options: Options, today: datetime.date, watch: Callable[[GateSweep], Kept]) -> Iterator[Check]:
    """Try each direction; a check is there when it is done.

    Args:
        options: of a sweep of the project: the runner, the jobs, the probes and the time limits are taken.
        today: decides what has expired.
        watch: makes the reporter of a sweep.

    Raises:
        TargetError, UsageError: nothing can be swept here.
    """
    with tempfile.TemporaryDirectory(prefix="faultinject-self-test-") as folder:
        twins = {name: _sweep(Path(folder) / name, text, options) for name, text in _TWINS.items()}

        def ran(name: str, baseline: Baseline | None) -> Ran:
            sweep = twins[name]
            if baseline is not None:
                write_baseline(sweep.baseline, baseline)
            (made,) = run_gate([sweep], watch=watch, today=today)
            if isinstance(made, Broken):
                raise made.error
            return made

        def on_file(one: Ran, baseline: Baseline) -> Ran:
            write_baseline(one.sweep.baseline, baseline)
            return one.compared(read_baseline(one.sweep.baseline), today)

        sound = ran("sound", None)
        yield Check("without a baseline", CHANGED, sound.outcome.status)
        good = accept(sound, None, today)
        yield Check("with the baseline that --accept wrote", PASSED, on_file(sound, good).outcome.status)
        leaking = ran("leaking", good)
        yield Check("a planted leak: a new violation", FAILED, leaking.outcome.status)
        known = accept(leaking, Grant("planted", "faultinject", today), today)
        yield Check("the same leak, suppressed", PASSED, on_file(leaking, known).outcome.status)
        over = tuple(
            msgspec.structs.replace(row, expires=today - datetime.timedelta(days=1))
            for row in known.suppression
        )
        expired = msgspec.structs.replace(known, suppression=over)
        yield Check("the day after it expires", FAILED, on_file(leaking, expired).outcome.status)
        yield Check("the leak fixed, and still listed", FAILED, on_file(sound, known).outcome.status)
        yield Check("one more call in the constructor", CHANGED, ran("longer", good).outcome.status)


def _sweep(folder: Path, module: str, options: Options) -> GateSweep:
    folder.mkdir()
    (folder / "planted.py").write_text(module)
    plain = Options(
        target=TargetSpec("planted:Planted", "close", str(folder)),
        faults=("RuntimeError",),
        runner=options.runner if options.level != "milestones" else "auto",
        jobs=options.jobs,
        backend=options.backend,
        settle=options.settle,
        deadline=options.deadline,
        without=options.without,
        repeats=1,
    )
    return GateSweep(plain, folder / "matrices")
