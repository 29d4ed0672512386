"""The first of several versions in which a case is judged other than in the oldest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from faultinject.errors import UsageError
from faultinject.facts import CaseResult
from faultinject.gate._changes import point_changes
from faultinject.gate._diff import CaseKey, by_key, case_key
from faultinject.matrix import word_of
from faultinject.points import describe_fault, describe_point, point_key
from faultinject.reports import Report

ABSENT: Final = "absent"
"""The word of a version that has no such fault point."""


class FirstChange(NamedTuple):
    """Between which two versions something changed.

    Attributes:
        last: the place of the last version that is as the oldest.
        first: that of the next one, which is not.
        was, is_now: what they show.
    """

    last: int
    first: int
    was: str
    is_now: str


def first_change(number: int, word_at: Callable[[int], str]) -> FirstChange | None:
    """Find a change by halving, as ``git bisect`` does; None where every version shows the same.

    Where there are several changes, one of them is found, and both its sides were looked at. Where the oldest
    and the newest show the same, those between are looked at one after the other.

    Args:
        number: of versions, at least 2, the oldest first.
        word_at: what the version at that place shows; costly, and asked once for each.
    """
    known: dict[int, str] = {}

    def word(place: int) -> str:
        if place not in known:
            known[place] = word_at(place)
        return known[place]

    was, last, first = word(0), 0, number - 1
    if word(first) == was:
        first = next((place for place in range(1, number - 1) if word(place) != was), 0)
        if not first:
            return None
        return FirstChange(first - 1, first, was, word(first))
    while first - last > 1:
        middle = (last + first) // 2
        if word(middle) == was:
            last = middle
        else:
            first = middle
    return FirstChange(last, first, was, word(first))


class _Known(NamedTuple):
    case: CaseResult
    report: Report
    """Of the version in which it was found."""


class Trail:
    """A case through the versions of its target.

    Args:
        names: of the versions, the oldest first, at least two.
        report_of: the report of the version at that place. The second argument says which options of a sweep
            are enough, once it is known which case is meant; costly, and asked once for each version.
        case: the id of the case, as the newest version's report, or else the oldest's, has it.
    """

    def __init__(
        self, names: tuple[str, ...], report_of: Callable[[int, Mapping[str, Any]], Report], case: str
    ) -> None:
        self.names = names
        self.words: dict[int, str] = {}
        """By place, the word of each version that was looked at."""
        self.title = ""
        """The place and the fault, once they are known."""
        self._report_of = report_of
        self._case = case
        self._known: _Known | None = None
        self._versions: dict[int, str] = {}

    def follow(self) -> FirstChange | None:
        """Find where the verdict changed; None where every version shows the same.

        Raises:
            UsageError: neither the newest nor the oldest version has the case, or a report lacks it although
                it has its fault point, was cut short, or is of another level.
        """
        newest = len(self.names) - 1
        looked = {newest: self._look(newest)}
        if self._known is None:
            looked[0] = self._look(0)
        known = self._known
        if known is None:
            raise UsageError(
                f"neither {self.names[newest]} nor {self.names[0]} has a case {self._case}: "
                "take an id from the report of one of them"
            )
        self.title = _title(known.case)
        return first_change(
            len(self.names), lambda place: self._word(place, looked.get(place) or self._look(place), known)
        )

    def version(self, place: int) -> str:
        """What a version calls itself, and where it was found."""
        version, name = self._versions.get(place, ""), self.names[place]
        return name if version in name else f"{version} ({name})"

    def _look(self, place: int) -> Report:
        enough: dict[str, Any] = {}
        if self._known is not None:
            case = self._known.case
            enough = {
                "level": case.point.level,
                "fault": case.fault,
                "phases": case.phase,
                "times": case.times,
            }
        report = self._report_of(place, enough)
        if not report.complete:
            raise UsageError(
                f"the report {self.names[place]} was cut short: go on with `faultinject sweep --resume`"
            )
        self._versions[place] = report.environment.target_version
        if self._known is None:
            found = next((case for case in report.cases if case.id == self._case), None)
            self._known = _Known(found, report) if found is not None else None
        return report

    def _word(self, place: int, report: Report, known: _Known) -> str:
        if report.level != known.report.level:
            raise UsageError(
                f"{self.names[place]} is of level {report.level}, the case of level {known.report.level}: "
                "sweep all versions at the same level"
            )
        key = _key_in(report, known)
        result = by_key(report).get(key) if key is not None else None
        if key is not None and result is None:
            raise UsageError(
                f"{self.names[place]} has no case {_title(known.case)}: sweep it with the same options"
            )
        self.words[place] = word_of(result) if result is not None else ABSENT
        return self.words[place]


def _key_in(report: Report, known: _Known) -> CaseKey | None:
    """The case as a report has it; None where the report lacks its fault point."""
    key, points = case_key(known.case), [point_key(point) for point in report.points]
    if key.point in points:
        return key
    # The same call of another frame, as `diff` sees it.
    before = [point_key(point) for point in known.report.points]
    moved = {move.before: move.after for move in point_changes(before, points, report.level).moved}
    return key._replace(point=moved[key.point]) if key.point in moved else None


def _title(case: CaseResult) -> str:
    return f"{describe_point(case.point)}: {describe_fault(case.fault, case.second)}"
