"""Where in the user's repository something is to be seen."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from faultinject.facts import CaseResult, Finding, Recording

_INSTALLED = frozenset({"site-packages", "dist-packages"})


class Place(NamedTuple):
    """A line of a file of the repository; ``("", 0)`` is nowhere in it."""

    file: str = ""
    line: int = 0


def repository_root(start: Path | None = None) -> Path:
    """The nearest folder with a ``.git`` in `start` or above it; otherwise `start` itself."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / ".git").exists():
            return folder
    return here


def place_in(file: str, line: int, root: Path) -> Place:
    """The place as of the root; nowhere for what is not of the repository, such as an installed package."""
    if not file or file.startswith("<"):
        return Place()
    try:
        relative = Path(os.path.realpath(file)).relative_to(root)
    except ValueError:
        return Place()
    if _INSTALLED & set(relative.parts):
        return Place()
    return Place(relative.as_posix(), max(line, 1))


def seen_from(file: str, root: Path) -> str:
    """A path as of the root, where it lies beneath it."""
    path = Path(file)
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else file


def place_of(finding: Finding, result: CaseResult, recording: Recording, root: Path) -> Place:
    """Where to fix a finding: the call that its smallest case failed at, in the frame it is charged to.

    Where the fault came deeper, it is the target's own call within which it came.
    """
    point = result.point
    if point.caller == finding.charged_to:
        place = place_in(point.file, point.line, root)
        if place.file:
            return place
    for step in recording.steps:
        if step.number == point.step:
            return place_in(step.file, step.line, root)
    return Place()
