"""The sweep: one pass over the flow."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from faultinject.backends import choose_name
from faultinject.facts import Case, CaseResult, Observation, Point, Recording, Summary
from faultinject.faults import HANG, parse_faults
from faultinject.matrix import declaration
from faultinject.oracle import judge
from faultinject.points import make_cases
from faultinject.reports import Reporter, describe_environment, findings, summarise
from faultinject.runners import Expectation, Pool, RunCase, Screen
from faultinject.sweep._options import Options
from faultinject.sweep._plan import class_of, sampled, seconds_at, split, starts_of
from faultinject.sweep._recording import check_has_points, discover, with_points

_EVERY_CASE_IF_UNDER = 20.0
"""Seconds, in all lanes, below which every accusation is confirmed, and repeated, by itself."""

_ALWAYS_EACH = frozenset({"hang", "crash", "masked"})
"""What a copy of a process, without its threads, shows most easily of its own making."""

_ASKED = 4
"""Members of a class that are run whole where the copy and the first whole run differ."""

Adjust = Callable[[Recording], Recording]
Plan = Callable[[Recording, Sequence[Case]], Iterable[Sequence[Case]]]


class Sweep:
    """Sweeps one target.

    Args:
        options: what is asked for.
        reporter: told as cases end.
        skip: ids of cases that an earlier report has, and their results.
        adjust: changes the recording; if it is not given, what `declared` gives.
        command: for the report.
        plan: which of the cases are run, in batches: the next is asked for when one is judged. If it is not
            given: all, in one.
    """

    def __init__(
        self,
        options: Options,
        reporter: Reporter,
        *,
        skip: Iterable[CaseResult] = (),
        adjust: Adjust | None = None,
        before_start: Callable[[Recording, Any], None] | None = None,
        command: tuple[str, ...] = (),
        plan: Plan | None = None,
    ) -> None:
        self.options = options
        self.reporter = reporter
        self.results: dict[str, CaseResult] = {r.id: r for r in skip}
        self.skip = frozenset(self.results)
        self.adjust = adjust or declared(options)
        self.before_start = before_start
        self.command = command
        self.plan = plan
        self.settled: set[str] = set()
        """Accused cases that were repeated often enough."""
        self.stages: dict[str, float] = {}
        self.recording: Recording | None = None
        self.started = time.monotonic()
        self.version = ""
        self.spoken_for: dict[tuple[object, ...], str] = {}
        """Class of clean cases -> id of the one that was confirmed for them."""
        self.observed: dict[str, Observation] | None = None
        """By case id, the last observation, with what the process wrote; kept where this is a dict."""
        self.begun = False
        """Whether the reporter was told of the start; only then is there an end to tell it of."""

    def run(self) -> Summary:
        """Record, screen, confirm, repeat; the summary is also given to the reporter.

        Raises:
            TargetError, UsageError: see `Pool` and `discover`.
        """
        options = self.options
        complete = False
        try:
            with pool_of(options, options.lanes) as pool:
                for batch in self._batches(self.prepare(pool)):
                    forked, whole = self.split(pool, batch)
                    self.screen(pool, forked)
                    self.settle(pool, forked + self._taken_up(), whole, list(self.cases.values()))
            complete = True
        finally:
            summary = self._finish(complete)
        return summary

    def _batches(self, cases: Sequence[Case]) -> Iterable[Sequence[Case]]:
        assert self.recording is not None
        return [cases] if self.plan is None else self.plan(self.recording, cases)

    def prepare(self, pool: Pool) -> list[Case]:
        """Record, and choose the cases; those of an earlier report are not among them."""
        options = self.options
        self._stage("import")
        parse_faults(",".join([*options.faults, *_exceptions_of(options)]))
        self.version = pool.ready.version
        recording, stacks = discover(options, pool)
        if self.adjust is not None:
            recording = self.adjust(recording)
        check_has_points(recording)
        points = options.filter.apply(recording.points, stacks)
        points = tuple(sampled(points, options))
        recording = self.recording = with_points(recording, points)
        cases = cases_of(options, recording)
        environment = describe_environment(
            target_version=pool.ready.version,
            backend=choose_name(options.backend, options.attributes),
            runner=options.runner,
            jobs=options.lanes,
            faults=options.faults,
            probes=options.probes,
            absent_probes=dict(pool.ready.absent),
            command=self.command,
            seed=options.seed if options.limit else None,
            replay=options.replay_words(),
        )
        if self.before_start is not None:
            self.before_start(recording, environment)
        self.reporter.start(recording, environment, len(cases))
        self.begun = True
        self.settings = options.settings(recording.seconds)
        self.expectation = expectation_of(recording, second=options.second)
        self.cases = {case.id: case for case in cases}
        self._stage("record")
        return [case for case in cases if case.id not in self.skip]

    def split(self, pool: Pool, cases: Sequence[Case]) -> tuple[list[Case], list[Case]]:
        """(cases to screen by fork, cases to run whole)."""
        assert self.recording is not None
        ready = pool.ready
        return split(cases, self.recording, self.options, ready.screen, ready.device_initialised)

    def screen(self, pool: Pool, cases: Sequence[Case]) -> None:
        """Run the target once and fork at the point of each of these cases."""
        if not cases:
            return
        # Those beyond the first lanes' children overlap with the construction itself.
        order = Screen(tuple(cases), self.settings, self.expectation, self.options.lanes)
        pool.run([order], self._screened)
        self._stage("screen")

    def forget(self, cases: Iterable[Case]) -> None:
        """Let these be judged as if they had not been."""
        for case in cases:
            self.results.pop(case.id, None)
            self.settled.discard(case.id)

    def settle(
        self, pool: Pool, screened: Sequence[Case], whole: Sequence[Case], cases: Sequence[Case]
    ) -> None:
        """Run what was not screened, confirm what was, and repeat the accusations among `cases`."""
        assert self.recording is not None
        light = self.recording.seconds < 0.2
        pool.run([self._order(case, retry=True) for case in whole], self._judged)
        self._stage("run")
        if screened:
            self._confirm(pool, screened, light)
            self._stage("confirm")
        self._repeat(pool, cases)
        self._stage("repeat")

    def _taken_up(self) -> list[Case]:
        """The cases that an interrupted sweep screened and did not come to confirm."""
        earlier = [self.results[i] for i in self.cases if i in self.skip]
        confirmed = {class_of(r) for r in earlier if r.confirmed}
        return [
            self.cases[r.id]
            for r in earlier
            if r.runner == "fork"
            and not r.confirmed
            and not r.confirmed_by
            and not (r.verdict == "clean" and class_of(r) in confirmed)
        ]

    def _order(self, case: Case, *, retry: bool) -> RunCase:
        return RunCase(case, self.settings, self.expectation, retry, self.observed is not None)

    def _judge(self, seen: Observation) -> CaseResult:
        assert self.recording is not None
        return judge(seen, self.cases[seen.case], self.recording, deadline=self.options.deadline)

    def _screened(self, seen: Observation) -> None:
        self._keep(seen)
        result = self._judge(seen)
        self.results[result.id] = result
        self.reporter.case(result)

    def _keep(self, seen: Observation) -> None:
        if self.observed is not None:
            self.observed[seen.case] = seen

    def _judged(self, seen: Observation) -> None:
        self._keep(seen)
        result = msgspec.structs.replace(self._judge(seen), confirmed=True)
        earlier = _runs(self.results.get(result.id), result.verdict)
        result = msgspec.structs.replace(result, runs=(*earlier, result.verdict))
        self.results[result.id] = result
        self.reporter.case(result)

    def _confirm(self, pool: Pool, screened: Sequence[Case], light: bool) -> None:
        """Run again, whole, what a screen accused, and one clean case of each stretch."""
        how = self.options.confirm
        if how == "none":
            return
        if how == "auto":
            assert self.recording is not None
            accused = sum(self.results[case.id].verdict not in ("clean", "handled") for case in screened)
            cost = accused * max(self.recording.seconds * 1.5, 0.02) / self.options.lanes
            how = "each" if cost < _EVERY_CASE_IF_UNDER else "class"
        classes: dict[tuple[object, ...], list[str]] = {}
        for case in screened:
            result = self.results[case.id]
            if result.verdict == "handled" and not result.violation:
                continue
            key = class_of(result)
            if result.verdict == "clean" and key in self.spoken_for:
                self.results[case.id] = msgspec.structs.replace(result, confirmed_by=self.spoken_for[key])
                continue
            classes.setdefault(key, []).append(case.id)
        chosen: list[str] = []
        shared: dict[tuple[object, ...], list[str]] = {}
        for key, members in classes.items():
            first = self.results[members[0]]
            each = (first.verdict in _ALWAYS_EACH and not first.second) or (
                how == "each" and first.verdict != "clean" and not _takes_its_time(first)
            )
            chosen += members if each else members[:1]
            if how == "class" or _takes_its_time(first):
                shared[key] = members
        screens = {i: self.results[i] for i in chosen}
        self._run_again(
            pool, chosen, "confirm", retry_for={m[0] for m in classes.values()} if not light else None
        )
        self._spread(pool, shared, screens)
        for key, members in classes.items():
            first = self.results[members[0]]
            if class_of(first) == key and first.verdict == "clean":
                self.spoken_for[key] = first.id

    def _spread(
        self, pool: Pool, classes: dict[tuple[object, ...], list[str]], screens: dict[str, CaseResult]
    ) -> None:
        """What one case of a class showed holds for the class.

        Where a copy of the process had seen something else (it has no threads, and is not collected), a few
        more of the class are asked; where they differ among themselves, all are.
        """
        uncertain: list[list[str]] = []
        for members in classes.values():
            if _says(screens[members[0]]) == _says(self.results[members[0]]):
                self._speak_for(members, 1)
            else:
                uncertain.append(members)
        self._run_again(
            pool, [i for members in uncertain for i in members[1:_ASKED]], "confirm", retry_for=set()
        )
        rest: list[str] = []
        for members in uncertain:
            if len({_says(self.results[i]) for i in members[:_ASKED]}) == 1:
                self._speak_for(members, _ASKED)
            else:
                rest += members[_ASKED:]
        self._run_again(pool, rest, "confirm", retry_for=set())

    def _speak_for(self, members: list[str], asked: int) -> None:
        """Let the first of a class, confirmed, speak for those that were not asked."""
        first = self.results[members[0]]
        self.results[first.id] = msgspec.structs.replace(first, stands_for=len(members) - asked + 1)
        self.reporter.case(self.results[first.id])
        for member in members[asked:]:
            result = self.results[member]
            if _says(result) != _says(first):
                result = msgspec.structs.replace(
                    result,
                    verdict=first.verdict,
                    violation=first.violation,
                    charged_to=first.charged_to,
                    grade=first.grade,
                    problems=first.problems,
                )
            self.results[member] = msgspec.structs.replace(result, confirmed_by=first.id)
            self.reporter.case(self.results[member])

    def _run_again(self, pool: Pool, ids: list[str], stage: str, retry_for: set[str] | None = None) -> None:
        done = 0

        def seen(observation: Observation) -> None:
            nonlocal done
            done += 1
            self._judged(observation)
            self.reporter.progress(stage, done, len(ids))

        pool.run([self._order(self.cases[i], retry=retry_for is None or i in retry_for) for i in ids], seen)

    def _repeat(self, pool: Pool, cases: Sequence[Case]) -> None:
        """Repeat accusations until enough runs agree: each where that is cheap, else one for each finding."""
        assert self.recording is not None
        options = self.options
        results = [self.results[case.id] for case in cases if case.id in self.results]
        accused = [
            r
            for r in results
            if r.confirmed
            and r.verdict not in ("clean",)
            and not (r.verdict == "handled" and not r.violation)
            and r.id not in self.settled
            and not (r.id in self.skip and self._decided(r.id))
        ]
        smallest = {f.smallest for f in findings(results, self.recording)}
        accused = [r for r in accused if r.id in smallest or not _takes_its_time(r)]
        cost = sum(max(r.seconds, 0.02) for r in accused) * (options.repeats - 1) / options.lanes
        if cost > _EVERY_CASE_IF_UNDER:
            accused = [r for r in accused if r.id in smallest]
        waiting = [r.id for r in accused]
        for _ in range(options.tries):
            waiting = [i for i in waiting if not self._decided(i)]
            if not waiting:
                break
            self._run_again(
                pool, waiting, "repeat", retry_for=None if cost <= _EVERY_CASE_IF_UNDER else set()
            )
        for identifier in [r.id for r in accused]:
            self._settle(identifier)

    def _decided(self, identifier: str) -> bool:
        runs = self.results[identifier].runs
        most = Counter(runs).most_common(1)[0][1] if runs else 0
        return most >= self.options.repeats or len(runs) >= self.options.tries

    def _settle(self, identifier: str) -> None:
        self.settled.add(identifier)
        result = self.results[identifier]
        verdict, number = Counter(result.runs).most_common(1)[0]
        if number >= self.options.repeats:
            if verdict != result.verdict:
                note = f"{number} of {len(result.runs)} runs were {verdict}"
                result = msgspec.structs.replace(result, verdict=verdict, notes=(*result.notes, note))
        else:
            result = msgspec.structs.replace(result, verdict="unstable", violation=False, charged_to="")
        self.results[identifier] = result
        self.reporter.case(result)

    def _stage(self, name: str) -> None:
        now = time.monotonic()
        spent = now - self.started - sum(self.stages.values())
        self.stages[name] = round(self.stages.get(name, 0.0) + spent, 3)

    def _finish(self, complete: bool) -> Summary:
        seconds = round(time.monotonic() - self.started, 3)
        if self.recording is None:
            return Summary(0, 0, 0, {}, (), complete=False, seconds=seconds)
        summary = summarise(
            list(self.results.values()),
            self.recording,
            seconds=seconds,
            complete=complete,
            seconds_by_stage=self.stages,
        )
        if self.begun:
            self.reporter.finish(summary)
        return summary


def declared(options: Options) -> Adjust | None:
    """What brings the declared ownership table in that the options name a folder for; None for none.

    Raises:
        UsageError: as of `faultinject.matrix.declaration`.
    """
    if not options.matrices or options.level == "milestones":
        return None
    return declaration(Path(options.matrices), options.target.name)


def pool_of(options: Options, jobs: int) -> Pool:
    """The lanes that `options` ask for."""
    return Pool(
        options.target,
        jobs,
        "spawn" if options.runner == "spawn" else "zygote",
        construction_limit=options.settings().time_limit,
    )


def _takes_its_time(result: CaseResult) -> bool:
    """Whether a case is one of many that last as long as a case may: the clean-up waits for a release."""
    return result.verdict == "hang" and result.second != ""


def _says(result: CaseResult) -> tuple[str, bool, str]:
    return (result.verdict, result.violation, result.charged_to)


def _runs(result: CaseResult | None, verdict: str) -> tuple[str, ...]:
    """What was seen of a case so far: a screen that a whole run agrees with counts as one of its runs."""
    if result is None:
        return ()
    if result.confirmed:
        return result.runs
    return (result.verdict,) if result.verdict == verdict else ()


def _exceptions_of(options: Options) -> list[str]:
    return [fault for fault in options.second_faults if fault != HANG] if options.second else []


def cases_of(options: Options, recording: Recording) -> tuple[Case, ...]:
    """Every point of the recording with every fault, and with every second fault if they are asked for.

    What is owned at the end of a call, before it hands anything over, is what was owned before it: so second
    faults are paired with the call's beginning, and with its end only where its beginning is no point.
    A release that hangs is waited for: it is paired with the first of the faults alone.
    """
    at = None
    if options.second:
        begun = {_call_of(point) for point in recording.points if point.phase == "before"}

        def at(point: Point, fault: str) -> Sequence[str]:
            if point.phase == "after" and _call_of(point) in begun:
                return ()
            first = fault == options.faults[0]
            chosen = [one for one in options.second_faults if first or one != HANG]
            return seconds_at(recording, chosen, point)

    return make_cases(options.target.name, recording.points, options.faults, options.times, at)


def _call_of(point: Point) -> tuple[object, ...]:
    return point.caller, point.callee, point.occurrence, point.stack


def expectation_of(recording: Recording, *, second: bool = False) -> Expectation:
    """What a case needs to know of the recording."""
    return Expectation(
        owners={start: name for name, start in recording.objects.items()},
        residue=recording.residue,
        attributes=recording.attributes,
        holds=recording.holds,
        release=recording.release,
        seconds=recording.seconds,
        owned=recording.owned if second else (),
        second_owners=starts_of(recording) if second else {},
    )


def replay(
    options: Options, find: Callable[[Sequence[Case]], Case]
) -> tuple[Observation, CaseResult, Recording]:
    """Run one case, verbosely.

    Args:
        find: picks the case among those of the recording.
    """
    adjust = declared(options)
    with pool_of(options, 2) as pool:
        recording, _ = discover(options, pool)
        if adjust is not None:
            recording = adjust(recording)
        case = find(cases_of(options, recording))
        seen: list[Observation] = []
        expectation = expectation_of(recording, second=bool(case.second))
        order = RunCase(case, options.settings(recording.seconds), expectation, True, True)
        pool.run([order], seen.append)
        return seen[-1], judge(seen[-1], case, recording, deadline=options.deadline), recording
