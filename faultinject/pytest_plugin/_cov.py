"""``--faultinject-cov``: what the cases ran of the clean-up code, brought to the process that reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
import pytest

from faultinject._reading import reason
from faultinject.cleanup_coverage import Tally, ranges, write_data
from faultinject.points import module_of
from faultinject.pytest_plugin._settings import Settings
from faultinject.reports import seen_from
from faultinject.sweep import Judged

DATA = Path(".faultinject") / "coverage"
"""Beneath the project's root; in a folder that pytest-cov and ``coverage combine`` do not look into."""

Told = list[tuple[str, dict[str, list[int]]]]
"""(title, lines by file) of some cases, as values that pytest-xdist can send."""


def with_cover(settings: Settings, config: pytest.Config, frame: str) -> Settings:
    """The settings of a test whose clean-up coverage is asked for, if it is.

    Args:
        frame: ``module:qualname`` of what is swept: its package is looked at where no modules were named.
    """
    asked = config.getoption("faultinject_cov")
    if asked is None:
        return settings
    globs = _named(asked)
    if not globs:
        top = module_of(frame).partition(".")[0]
        globs = [top, f"{top}.*"] if top else ["*"]
    options = msgspec.structs.replace(settings.options, cover=tuple(globs))
    return msgspec.structs.replace(settings, options=options)


def told(judged: Iterable[Judged], titles: Iterable[str]) -> Told:
    """What some cases ran."""
    return [
        (title, {path: list(numbers) for path, numbers in one.observation.lines} if one.observation else {})
        for one, title in zip(judged, titles, strict=True)
    ]


def report(
    tellings: Iterable[Told], modules: Mapping[str, str], terminalreporter: pytest.TerminalReporter
) -> None:
    """Print the clean-up coverage of a run, and write its data.

    Args:
        modules: by name, the files that were looked at; they count although nothing of them ran.
    """
    config = terminalreporter.config
    tally = Tally(file for file in modules.values() if file)
    for telling in tellings:
        for title, lines in telling:
            tally.add(title, lines)
    terminalreporter.section(
        "clean-up coverage: lines of except, finally and __exit__ that ran under some fault"
    )
    if not tally.by_case:
        terminalreporter.line("no case was run")
        return
    for glob in _named(config.getoption("faultinject_cov")):
        if not any(fnmatchcase(name, glob) for name in modules):
            terminalreporter.line(f"no module that was loaded is named {glob}", red=True)
    rows = tally.coverage()
    if not rows:
        terminalreporter.line("no clean-up code in the modules that were looked at")
        return
    names = [seen_from(row.file, config.rootpath) for row in rows]
    width = max(map(len, [*names, "TOTAL"]))
    for name, row in zip(names, rows, strict=True):
        terminalreporter.line(_row(name.ljust(width), len(row.ran), len(row.lines)))
        for region, never in row.never:
            where = f" in {region.where}" if region.where else ""
            terminalreporter.line(f"    never: {ranges(never)} ({region.kind}{where}, line {region.line})")
    if len(rows) > 1:
        ran, total = sum(len(row.ran) for row in rows), sum(len(row.lines) for row in rows)
        terminalreporter.line(_row("TOTAL".ljust(width), ran, total))
    path = config.rootpath / DATA
    try:
        written = write_data(tally, path)
    except OSError as error:
        terminalreporter.line(f"{DATA} is not written: {path.parent}: {reason(error)}")
        return
    if written:
        terminalreporter.line(
            f"each case is a context of {DATA}: coverage html --data-file={DATA} --show-contexts"
        )


def _named(asked: str) -> list[str]:
    return [glob.strip() for glob in asked.split(",") if glob.strip()]


def _row(name: str, ran: int, total: int) -> str:
    return f"{name}  {ran:>4} of {total:>4}  {100 * ran / total:3.0f}%"
