"""What the cases of a run executed of the clean-up code, file by file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from faultinject.cleanup_coverage._regions import Region, regions_of

Lines = Mapping[str, Iterable[int]]


class FileCoverage(msgspec.Struct, frozen=True):
    """The clean-up coverage of one file.

    Attributes:
        lines: that could have run.
        ran: those of them that ran under some fault.
        never: the regions of which lines never did, with these lines.
    """

    file: str
    lines: frozenset[int]
    ran: frozenset[int]
    never: tuple[tuple[Region, frozenset[int]], ...]

    @property
    def percent(self) -> float:
        return 100.0 * len(self.ran) / len(self.lines)


class Tally:
    """Gathers the lines of each case, whichever process ran it.

    Args:
        files: of interest, whether or not anything of them runs.

    Attributes:
        by_case: by the case's title, by file, the lines that ran while its fault was on its way.
        files: all files of interest, also those of which nothing ran.
    """

    def __init__(self, files: Iterable[str] = ()) -> None:
        self.by_case: dict[str, dict[str, set[int]]] = {}
        self.files = set(files)

    def add(self, title: str, lines: Lines) -> None:
        """Note a case.

        Args:
            title: its name; a case that ran more than once is one.
            lines: by file, what ran.
        """
        known = self.by_case.setdefault(title, {})
        for file, numbers in lines.items():
            known.setdefault(file, set()).update(numbers)
        self.files.update(lines)

    def coverage(self) -> list[FileCoverage]:
        """The files that have clean-up code, by name."""
        ran: dict[str, set[int]] = {}
        for case in self.by_case.values():
            for file, numbers in case.items():
                ran.setdefault(file, set()).update(numbers)
        found: list[FileCoverage] = []
        for file in sorted(self.files):
            regions = regions_of(_source(file), file)
            lines = frozenset(line for region in regions for line in region.lines)
            if lines:
                done = lines & ran.get(file, set())
                never = tuple((r, r.lines - done) for r in regions if r.lines - done)
                found.append(FileCoverage(file, lines, done, never))
        return found


def ranges(lines: Iterable[int]) -> str:
    """Such as ``12, 17-19``: lines of which each follows the other are one range."""
    parts: list[list[int]] = []
    for number in sorted(lines):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)


def _source(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
