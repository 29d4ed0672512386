"""The report in a terminal, or in a pipe: progress, the lifecycle matrix, findings, a last plain sentence."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from faultinject.facts import CaseResult, Finding, Level, Recording, Summary
from faultinject.points import LEVELS, describe_fault, describe_point, replay_command, short_name
from faultinject.reports._matrix import render_matrix, render_second, verdict_counts
from faultinject.reports._names import name_text
from faultinject.reports._progress import CASES, ProgressBar, ProgressLines
from faultinject.reports._protocol import Environment
from faultinject.reports._screen import plain, safe
from faultinject.reports._tables import bullets, heading, new_table, ownership_table, pairs
from faultinject.reports._words import GRADES, clock, counted, some, what_of

NESTED_SHOWN: Final = 10
UNSTEADY_SHOWN: Final = 20
_BENEATH: Final[dict[Level, str]] = {
    "steps": "every call site beneath it",
    "sites": "every distinct stack",
    "stacks": "every bytecode of its own frame",
    "opcodes": "every dynamic call, sampled",
}


class TerminalReporter:
    """Writes for a person.

    Args:
        console: from `make_console`.
        quiet: the last sentence only.
        verbose: also a line for each case as it ends, and how long each stage took.
        all_nested: every finding beneath the target, instead of the first ten.
        earlier: cases of a report that is being resumed.
        json_path: where the JSON report goes, for the advice on how to go on.
        now: a monotonic clock, in seconds.
    """

    def __init__(
        self,
        console: Console,
        *,
        quiet: bool = False,
        verbose: bool = False,
        all_nested: bool = False,
        earlier: Sequence[CaseResult] = (),
        json_path: Path | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._quiet = quiet
        self._verbose = verbose
        self._all_nested = all_nested
        self._json_path = json_path
        self._now = now
        self._results = {result.id: result for result in earlier}
        self._recording: Recording | None = None
        self._environment: Environment | None = None
        self._total = 0
        self._progress: ProgressBar | ProgressLines | None = None

    def know(self, recording: Recording, environment: Environment, total: int) -> None:
        """Take up what `finish` speaks of, and say nothing yet."""
        self._recording, self._environment, self._total = recording, environment, total

    def start(self, recording: Recording, environment: Environment, total: int) -> None:
        """Say what is swept, and how."""
        self.know(recording, environment, total)
        if self._quiet:
            return
        how = [environment.runner, environment.backend]
        if environment.jobs > 1:
            how.append(f"{environment.jobs} at a time")
        manner = f" ({', '.join(word for word in how if word)})" if any(how) else ""
        cases = counted(total, "case")
        self._say(f"sweeping {self._target()}: {cases} at level {recording.level}{manner}", "bold")
        if environment.absent_probes:
            absent = sorted(environment.absent_probes.items())
            self._say("not looked at: " + ", ".join(f"{name} ({why})" for name, why in absent))
        if self._results:
            self._say(f"{counted(len(self._results), 'case')} taken over from an earlier report")

    def case(self, result: CaseResult) -> None:
        """Count a case; its verdict is kept for the matrix."""
        if self._verbose:
            self._say(self._line(result))
        self._results[result.id] = result
        self.progress(CASES, len(self._results), self._total)

    def progress(self, stage: str, done: int, total: int) -> None:
        """Move the bar of a stage."""
        if self._quiet:
            return
        if self._progress is None:
            bar = ProgressBar if self._console.is_terminal else ProgressLines
            self._progress = bar(self._console, self._now)
        self._progress.update(stage, done, total)

    def finish(self, summary: Summary) -> None:
        """Print the matrix, the findings and the last sentence."""
        self.close()
        recording = self._recording
        if recording is None:
            raise RuntimeError("the report was not started: start() comes first")
        if not self._quiet:
            results = list(self._results.values())
            if results:
                if recording.level != "milestones":
                    self._print(heading("Owned by the target, first to be released first"))
                    self._print(ownership_table(recording.owned))
                self._print(heading(f"Lifecycle matrix of {self._target()}"))
                self._print(render_matrix(recording, results, self._console.width))
                second = render_second(results)
                if second is not None:
                    self._print(heading("Second faults: a release of the clean-up fails as well"))
                    self._print(second)
            self._findings(summary)
            self._nested(summary)
            self._apart(results, summary)
            if recording.unstable:
                self._print(heading("The fault points of this target change from run to run"))
                self._print(bullets(recording.unstable))
            if self._verbose and summary.seconds_by_stage:
                self._print(heading(f"Took {clock(summary.seconds)}"))
                self._print(pairs([(name, clock(s)) for name, s in summary.seconds_by_stage.items()]))
            self._print(Text(""))
        for sentence, style in self._last_words(summary, recording):
            self._say(sentence, style)

    def close(self) -> None:
        """Give the screen back, if a bar is on it."""
        progress, self._progress = self._progress, None
        if progress is not None:
            progress.close()

    def _line(self, result: CaseResult) -> str:
        """A case in a line: what was seen of it, and whether it was seen before."""
        whose = "" if not result.charged_to else f", charged to {short_name(result.charged_to)}"
        again = " again" if result.id in self._results else ""
        place = f"{describe_point(result.point)}, {describe_fault(result.fault, result.second)}"
        how = f"{clock(result.seconds)}, {result.runner}{again}"
        return f"{result.id} {result.verdict}: {place}{whose} ({how})"

    def _findings(self, summary: Summary) -> None:
        mine = [finding for finding in summary.findings if finding.violation]
        if not mine:
            return
        self._print(heading(f"{counted(len(mine), 'finding')} charged to the target"))
        for number, finding in enumerate(mine, 1):
            title = f"{number}. {finding.verdict}, {counted(finding.count, 'case')}: {finding.handler}"
            self._print(Text("\n" + plain(title), style="bold red"))
            self._print(pairs(self._details(finding)))

    def _details(self, finding: Finding) -> list[tuple[str, str]]:
        case = self._results.get(finding.smallest)
        rows = [("place", finding.place), ("what", what_of(finding))]
        steady = finding.steady
        if case is not None:
            grade = next(
                (p.grade for p in case.problems if p.verdict == finding.verdict and p.grade), case.grade
            )
            rows += [
                ("owned", some(case.owned, 12)),
                ("left", some(case.left, 12)),
                ("grade", GRADES[grade] if grade is not None else ""),
                ("caller got", case.exception),
            ]
            steady = ", ".join(
                word
                for word in (
                    steady,
                    f"seen by {case.runner}" if case.runner else "",
                    "" if case.confirmed else "not confirmed",
                    f"stands for {counted(case.stands_for, 'case')}" if case.stands_for > 1 else "",
                )
                if word
            )
        return [*rows, ("steady", steady), ("replay", self._again(finding))]

    def _nested(self, summary: Summary) -> None:
        nested = [finding for finding in summary.findings if not finding.violation]
        if not nested:
            return
        title = f"Beneath the target: {counted(len(nested), 'finding')}, each of the frame it is charged to"
        self._print(heading(title))
        nested.sort(key=lambda finding: (-finding.count, finding.charged_to, finding.smallest))
        shown = nested if self._all_nested else nested[:NESTED_SHOWN]
        table = new_table()
        table.add_column("charged to", overflow="fold", ratio=3)
        table.add_column("verdict", overflow="fold")
        table.add_column("cases", justify="right", no_wrap=True)
        table.add_column("what", overflow="fold", ratio=3)
        table.add_column("smallest", no_wrap=True)
        for finding in shown:
            table.add_row(
                name_text(short_name(finding.charged_to)),
                safe(finding.verdict),
                f"{finding.count:,}",
                safe(some(finding.resources, 3) if finding.resources else finding.what or "-"),
                safe(finding.smallest),
            )
        self._print(table)
        if len(shown) < len(nested):
            where = f", or read {self._json_path}" if self._json_path is not None else ""
            self._say(f"and {len(nested) - len(shown):,} more: --all-nested lists them{where}")

    def _apart(self, results: Sequence[CaseResult], summary: Summary) -> None:
        """Cases that are no pass and accuse nobody."""
        unsteady = [self._results[i] for i in summary.unsteady if i in self._results]
        missed = [result for result in results if result.verdict == "not-reached"]
        for title, cases in (
            (f"Unsteady: {counted(len(unsteady), 'case')} whose repetitions disagree", unsteady),
            (f"Not reached: {counted(len(missed), 'case')} of which nothing is known", missed),
        ):
            if not cases:
                continue
            self._print(heading(title))
            lines = [
                f"{case.id} {describe_point(case.point)}, {describe_fault(case.fault, case.second)}"
                + (f": {', '.join(case.runs)}" if case.runs else "")
                for case in cases[:UNSTEADY_SHOWN]
            ]
            if len(cases) > UNSTEADY_SHOWN:
                lines.append(f"and {len(cases) - UNSTEADY_SHOWN:,} more")
            self._print(bullets(lines))

    def _last_words(self, summary: Summary, recording: Recording) -> list[tuple[str, str]]:
        target = self._target()
        cases = counted(summary.cases, "case")
        if not summary.complete:
            advice = f"add --resume {self._json_path}" if self._json_path is not None else "use --json FILE"
            total = f" of {self._total:,}" if self._total else ""
            first = (
                f"Interrupted after {summary.cases:,}{total} cases of {target}, "
                f"with {counted(summary.violations, 'violation')} so far."
            )
            again = "to go on from here" if self._json_path is not None else "to be able to go on next time"
            return [(first, "bold"), (f"Next: the same command; {advice} {again}.", "")]
        if not summary.cases:
            why = "" if recording.points else f", which has no fault point at level {recording.level}"
            return [
                (f"No case was run on {target}{why}.", "bold"),
                (f"Next: faultinject discover {shlex.quote(recording.target)}", ""),
            ]
        if summary.violations:
            first = (
                f"faultinject found {counted(summary.violations, 'violation')} in {cases} of {target} "
                f"at level {recording.level} ({verdict_counts(summary.verdicts)})."
            )
            mine = next((finding for finding in summary.findings if finding.violation), None)
            advice = f"Next: {self._again(mine)} (the first, moment by moment)" if mine else ""
            return [(first, "bold red"), (self._beneath(summary), ""), (advice, "")]
        first = (
            f"faultinject found no violation in {cases} of {target} at level {recording.level} "
            f"({verdict_counts(summary.verdicts)})."
        )
        finer = LEVELS[LEVELS.index(recording.level) + 1 :][:1] if recording.level in _BENEATH else ()
        target_again = shlex.quote(recording.target)
        advice = (
            f"Next: faultinject sweep {target_again} --level {finer[0]} ({_BENEATH[recording.level]})"
            if finer
            else f"Next: faultinject matrix {target_again}"
        )
        return [(first, "bold green"), (self._beneath(summary), ""), (advice, "")]

    @staticmethod
    def _beneath(summary: Summary) -> str:
        if not summary.nested:
            return ""
        verb = "has" if summary.nested == 1 else "have"
        return f"{counted(summary.nested, 'case')} {verb} something charged to a frame beneath it."

    def _again(self, finding: Finding) -> str:
        """The command that runs the smallest case of a finding."""
        return replay_command(finding.smallest, self._environment.replay if self._environment else ())

    def _target(self) -> str:
        name = self._recording.target if self._recording is not None else ""
        version = self._environment.target_version if self._environment is not None else ""
        return f"{name} {version}".strip()

    def _say(self, text: str, style: str = "") -> None:
        # Sentences and commands are not cut into lines in a pipe: they are to be searched and copied.
        if text:
            self._console.print(safe(text, style), soft_wrap=not self._console.is_terminal)

    def _print(self, part: object) -> None:
        self._console.print(part)
