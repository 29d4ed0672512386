"""Hypothesis strategies for faults, for the cases of a target, and for schedules of several faults.

They shrink to what is easiest to understand: fewer faults, an earlier place, before rather than after, the
first call, the plainest fault. Needs the extra ``hypothesis``.
"""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from faultinject.errors import UsageError
from faultinject.facts import Case, CaseResult, Phase
from faultinject.faults import describe
from faultinject.filters import PointFilter
from faultinject.injection import Injection, Schedule, fault_name
from faultinject.matrix import fault_rank
from faultinject.points import PHASES
from faultinject.sweep import CaseByCase, Options
from faultinject.targets import TargetSpec

__all__ = ["SweptTarget", "faults", "injections", "schedules"]

_NEED_A_PACKAGE = ("torch.",)


def faults(*names: Any) -> st.SearchStrategy[str]:
    """Names of faults, the plainest first.

    Args:
        names: names or exception classes; by default every exception of the catalogue that the standard
            library
            has, and no signal, which would reach this very process.
    """
    wanted = [fault_name(name) for name in names] or [
        entry.name
        for entry in describe()
        if not entry.name.startswith((*_NEED_A_PACKAGE, "SIG")) and entry.name != "OSError:NAME"
    ]
    return st.sampled_from(sorted(dict.fromkeys(wanted), key=fault_rank))


def injections(
    places: Sequence[str],
    *,
    faults: st.SearchStrategy[str] | Sequence[Any] = (),
    phases: Sequence[Phase] = PHASES,
    occurrences: int = 1,
    times: Sequence[int] = (1,),
) -> st.SearchStrategy[Injection]:
    """One fault at one of `places`.

    Args:
        places: ``module:qualname`` of what is called; the first is the simplest.
        faults: a strategy, or names and classes; as of `faults` where empty.
        phases: the first is the simplest.
        occurrences: up to which call of a place may be the one that fails.
        times: how many calls in a row may fail; 0 for all of them.

    Raises:
        UsageError: no place is given.
    """
    if not places:
        raise UsageError(
            "no place given: name what is to fail, as in faultinject.strategies.injections(['app:connect'])"
        )
    named = faults if isinstance(faults, st.SearchStrategy) else _named(faults)
    return st.builds(
        Injection,
        place=st.sampled_from(list(places)),
        fault=named,
        phase=st.sampled_from(list(phases)),
        occurrence=st.integers(1, occurrences),
        times=st.sampled_from(list(times)),
    )


def schedules(
    places: Sequence[str],
    *,
    faults: st.SearchStrategy[str] | Sequence[Any] = (),
    phases: Sequence[Phase] = PHASES,
    occurrences: int = 1,
    times: Sequence[int] = (1,),
    min_size: int = 1,
    max_size: int = 3,
) -> st.SearchStrategy[Schedule]:
    """Several faults that wait at the same time, no two of them for the same call; see `injected`.

    In the order of `places`, so that two schedules that do the same are the same. Arguments as of
    `injections`.

    Args:
        min_size, max_size: how many faults.
    """
    one = injections(places, faults=faults, phases=phases, occurrences=occurrences, times=times)
    order = {place: number for number, place in enumerate(places)}

    def settled(found: tuple[Injection | None, ...]) -> Schedule:
        chosen = {(one.place, one.phase, one.occurrence): one for one in found if one is not None}.values()
        return tuple(sorted(chosen, key=lambda i: (order[i.place], i.occurrence, PHASES.index(i.phase))))

    # A slot for each, that shrinks to none by itself: of a list, Hypothesis does not find every element that
    # could be left out.
    several = st.tuples(*[st.none() | one] * max_size).map(settled)
    return several.filter(lambda schedule: len(schedule) >= min_size)


class SweptTarget:
    """A target whose cases a property test draws, and has judged in processes of their own.

    It is recorded when it is first needed, and kept ready until `close`, at the latest until this process
    ends.

    Args:
        target: as the command line takes it.
        release: method of the result, or ``module:function``, that gives it back.
        faults: names or classes.
        level, own, repeats, time_limit: as of ``faultinject sweep``.
        directory: where ``pyproject.toml`` is, and modules are imported from.
        filter: which points.
    """

    def __init__(
        self,
        target: str,
        *,
        release: str = "",
        faults: Sequence[Any] = ("RuntimeError", "KeyboardInterrupt"),
        level: str = "steps",
        own: Sequence[str] = (),
        repeats: int = 1,
        time_limit: float = 0.0,
        directory: str | Path = ".",
        filter: PointFilter = PointFilter(),  # noqa: B008 - frozen
    ) -> None:
        from faultinject.points import parse_level

        self.options = Options(
            target=TargetSpec(target, release, str(directory), tuple(own)),
            level=parse_level(level),
            faults=tuple(sorted(map(fault_name, faults), key=fault_rank)),
            filter=filter,
            repeats=repeats,
            time_limit=time_limit,
            runner="zygote",
            jobs=1,
        )
        self._flow: CaseByCase | None = None

    def cases(self) -> st.SearchStrategy[Case]:
        """The cases of the target, the earliest point and the plainest fault first."""
        return st.deferred(lambda: st.sampled_from(self.ready.cases))

    def places(self) -> list[str]:
        """What the target itself calls, in the order of its calls: places for `schedules`."""
        return list(dict.fromkeys(point.callee for point in self.ready.recording.points))

    def judge(self, case: Case) -> CaseResult:
        """Run a case in a process of its own, and judge what it left.

        Raises:
            TargetError: it ended the process that runs the cases.
        """
        return self.ready.judge([case])[0].result

    def replay(self, case: Case) -> str:
        """The command that runs a case again and shows it moment by moment."""
        return self.options.replay(case.id)

    @property
    def ready(self) -> CaseByCase:
        """The flow, recorded.

        Raises:
            TargetError, UsageError: the target cannot be swept.
        """
        if self._flow is None:
            self._flow = CaseByCase(self.options).__enter__()
            atexit.register(self.close)
        return self._flow

    def close(self) -> None:
        """End the processes. Safe to call twice; the next use begins anew."""
        flow, self._flow = self._flow, None
        if flow is not None:
            flow.close()
            atexit.unregister(self.close)

    def __repr__(self) -> str:
        return f"SweptTarget({self.options.target.name!r})"


def _named(names: Sequence[Any]) -> st.SearchStrategy[str]:
    return faults(*names)
