"""What a test is to be swept with: the command line before the mark, the mark before the ini file."""

from __future__ import annotations

import os
import random
import re
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Annotated, get_args

import msgspec
import pytest

from faultinject._near import near
from faultinject.errors import FaultinjectError, UsageError
from faultinject.facts import Level, Verdict
from faultinject.faults import parse_fault
from faultinject.filters import PointFilter
from faultinject.points import parse_level, parse_phases
from faultinject.sweep import Options
from faultinject.sweep._options import TRIES, Runner
from faultinject.targets import TargetSpec

BASELINES = ("none", "matrix", "gate")
_NUMBER = re.compile("[0-9]{1,18}")
_CASE = re.compile("[0-9a-f]+", re.I)


class Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of ``@pytest.mark.faultinject``. Those that are empty are left to the ini file.

    Attributes:
        target: as the command line takes it; empty where the body of the test is the target.
        release: method of the result, or ``module:function``, that gives it back.
        own: globs ``module:qualname`` of frames that are the target's own beside the outermost.
        level, faults, phases, runner, jobs, time_limit: as of ``faultinject sweep``.
        names, exclude_names, modules, exclude_modules: which points, as of ``faultinject sweep``.
        ignore: globs ``probe:key`` of what is not the target's.
        repeats: agreeing runs, of five, before a verdict accuses.
        allow: verdicts that are no failure of this test.
        budget: at most so many cases; 0 leaves it to the ini file.
    """

    target: str = ""
    release: str = ""
    own: tuple[str, ...] = ()
    level: str = ""
    faults: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    runner: str = ""
    jobs: int = 0
    time_limit: float = 0.0
    names: tuple[str, ...] = ()
    exclude_names: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    exclude_modules: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    repeats: Annotated[int, msgspec.Meta(ge=1, le=TRIES)] = 3
    allow: tuple[str, ...] = ()
    budget: int = 0


class Settings(msgspec.Struct, frozen=True):
    """Everything that a marked test, or a `fault_sweep`, needs to know.

    Attributes:
        options: for the flow.
        matrices: the folder with the committed matrices.
        baseline: whose violations are expected: ``none``, those of the ``matrix``, or of the ``gate``.
        budget: most cases of one test, 0 for all.
        seed: of the budget's sample.
        allow: verdicts that are no failure.
        own_faults: whether faults were named anywhere; else the committed matrix says which.
    """

    options: Options
    matrices: Path
    baseline: str
    budget: int
    seed: int
    allow: tuple[str, ...]
    own_faults: bool


def read_mark(mark: pytest.Mark | None) -> Mark:
    """The mark's arguments, checked.

    Raises:
        UsageError: one is unknown, or of another type.
    """
    if mark is None:
        return Mark()
    given = dict(mark.kwargs)
    if len(mark.args) == 1 and "target" not in given:
        given["target"] = mark.args[0]
    elif mark.args:
        raise UsageError("@pytest.mark.faultinject takes one argument without a name, the target")
    for name, value in given.items():
        if name not in Mark.__struct_fields__:
            known = ", ".join(Mark.__struct_fields__)
            raise UsageError(
                f"@pytest.mark.faultinject has no argument {name!r}{near(name, Mark.__struct_fields__)}; "
                f"it takes {known}"
            )
        if isinstance(value, str) and isinstance(getattr(Mark(), name), tuple):
            given[name] = tuple(part.strip() for part in value.split(",") if part.strip())
    try:
        asked = msgspec.convert(given, Mark)
    except msgspec.ValidationError as error:
        raise UsageError(f"@pytest.mark.faultinject: {error}") from None
    verdicts = get_args(Verdict)
    for name in asked.allow:
        if name not in verdicts:
            raise UsageError(
                f"@pytest.mark.faultinject: allow: {name!r} is no verdict{near(name, verdicts)}; "
                f"there are {', '.join(verdicts)}"
            )
    return asked


def settings_for(config: pytest.Config, mark: pytest.Mark | None) -> Settings:
    """What holds for a test with that mark.

    Raises:
        UsageError: a setting that is wrong; it says where it was given.
    """
    asked = read_mark(mark)
    level = _setting(config, "level", asked.level) or "steps"
    faults = _names(_setting(config, "faults", ",".join(asked.faults)))
    runner = _setting(config, "runner", asked.runner) or "auto"
    _check("runner", runner, get_args(Runner))
    jobs = _number(config, "jobs", asked.jobs)
    baseline = _setting(config, "baseline", "") or "none"
    _check("baseline", baseline, BASELINES)
    chosen: Level = parse_level(level)
    if chosen == "milestones":
        raise UsageError(
            "level milestones is of trees of processes, which `faultinject sweep` sweeps; choose another"
        )
    phases = parse_phases(",".join(asked.phases)) if asked.phases else ()
    options = Options(
        target=TargetSpec(
            asked.target, asked.release, _directory(config, asked.target), asked.own, _search_path()
        ),
        level=chosen,
        filter=PointFilter(
            modules=asked.modules,
            exclude_modules=asked.exclude_modules,
            names=asked.names,
            exclude_names=asked.exclude_names,
            phases=phases if len(phases) < 2 else (),
        ),
        runner=runner,  # type: ignore[arg-type] # checked above
        jobs=jobs or (1 if hasattr(config, "workerinput") else 0),
        time_limit=_seconds(config, asked.time_limit),
        ignore=asked.ignore,
        repeats=asked.repeats,
    )
    if faults:
        options = msgspec.structs.replace(options, faults=faults)
    return Settings(
        options,
        config.rootpath / (_setting(config, "matrices", "") or "matrices"),
        baseline,
        _number(config, "budget", asked.budget),
        seed_of(config),
        asked.allow,
        bool(faults),
    )


def check_run(config: pytest.Config) -> None:
    """See that what is set for a whole run can be, before anything of it runs.

    Raises:
        pytest.UsageError: a setting is wrong.
    """
    try:
        settings_for(config, None)
        durations_of(config)
        identifier = config.getoption("faultinject_case")
        if identifier is not None and not _CASE.fullmatch(identifier.strip()):
            raise UsageError(
                f"--faultinject-case is {identifier!r}: give the id of a case, as a failure shows it"
            )
    except FaultinjectError as error:
        raise pytest.UsageError(f"faultinject: {error}") from None


def seed_of(config: pytest.Config) -> int:
    """The seed of the samples: the same in each worker of pytest-xdist.

    Raises:
        UsageError: it is neither a number nor ``random``.
    """
    given = getattr(config, "workerinput", {}).get("faultinject_seed")
    if given is not None:
        return int(given)
    known = getattr(config, "_faultinject_seed", None)
    if known is None:
        text = _setting(config, "seed", "") or "0"
        if text != "random" and not _NUMBER.fullmatch(text.removeprefix("-")):
            raise UsageError(f"faultinject_seed is {text!r}: give a number, or random")
        known = random.SystemRandom().randrange(1 << 32) if text == "random" else int(text)
        config._faultinject_seed = known  # type: ignore[attr-defined]
    return int(known)


def durations_of(config: pytest.Config) -> int | None:
    """How many of the slowest cases to show; `None` for none, 0 for all."""
    text = _setting(config, "durations", "")
    if not text:
        return None
    return _number(config, "durations", 0)


def _setting(config: pytest.Config, name: str, marked: str) -> str:
    given = config.getoption(f"faultinject_{name.replace('-', '_')}")
    if given is not None:
        return str(given).strip()
    return marked or str(config.getini(f"faultinject_{name.replace('-', '_')}")).strip()


def _number(config: pytest.Config, name: str, marked: int) -> int:
    text = _setting(config, name, str(marked) if marked else "") or "0"
    if not _NUMBER.fullmatch(text):
        raise UsageError(f"faultinject_{name} is {text!r}: give a number of 0 or more")
    return int(text)


def _seconds(config: pytest.Config, marked: float) -> float:
    text = _setting(config, "time-limit", str(marked) if marked else "") or "0"
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise UsageError(f"faultinject_time_limit is {text!r}: give seconds, or 0 to derive them")
    return seconds


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        # A class of the user's is looked up beside the target, which is not imported here.
        if "." not in name and not (":" in name and not name.startswith("OSError:")):
            parse_fault(name)
    return names


def _check(name: str, given: str, choices: Sequence[str]) -> None:
    if given not in choices:
        raise UsageError(f"faultinject_{name} is {given!r}: choose one of {', '.join(choices)}")


def _directory(config: pytest.Config, target: str) -> str:
    """Where the target's module is looked for first: where this process would find it, if that is in the
    project; the target is not imported."""
    root = config.rootpath
    module = target.partition(":")[0].partition(".")[0] if ":" in target else ""
    for entry in sys.path if module else ():
        folder = Path(entry or os.curdir).resolve()
        if folder.is_relative_to(root) and "site-packages" not in folder.parts:
            spec = PathFinder.find_spec(module, [str(folder)])
            if spec is not None and (spec.origin or spec.submodule_search_locations):
                return str(folder)
    return str(root)


def _search_path() -> tuple[str, ...]:
    """Entries of ``sys.path`` that a fresh interpreter of this environment would not have."""
    usual = {*_environment_path(), sys.prefix, sys.base_prefix}
    found = [os.path.abspath(entry or os.curdir) for entry in sys.path]
    return tuple(
        entry
        for entry in dict.fromkeys(found)
        if not any(entry == one or entry.startswith(f"{one}{os.sep}") for one in usual)
    )


def _environment_path() -> list[str]:
    return [os.path.abspath(one) for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
