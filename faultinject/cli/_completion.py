"""What a shell offers while one types. It answers in silence: whatever is wrong, it offers nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path


def _quiet(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    def offer(incomplete: str) -> list[str]:
        try:
            return [name for name in names() if name.startswith(incomplete)]
        except Exception:
            return []

    return offer


def _in_a_list(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """The same for the last word of a comma-separated list."""

    def offer(incomplete: str) -> list[str]:
        before, comma, _ = incomplete.rpartition(",")
        return _quiet(lambda: (f"{before}{comma}{name}" for name in names()))(incomplete)

    return offer


def _levels() -> Iterable[str]:
    from faultinject.points import LEVELS

    return LEVELS


def _faults() -> Iterable[str]:
    from faultinject.faults import describe

    # The catalogue has rows such as `OSError:NAME`, which are to be filled in.
    return (entry.name for entry in describe())


def _probes() -> Iterable[str]:
    from faultinject.probes import load_probes

    return (probe.name for probe in load_probes())


def _formats() -> Iterable[str]:
    from faultinject.reports import FORMATS

    return (f"{name}:" for name in FORMATS)


def _targets() -> Iterable[str]:
    from faultinject.targets import _builtin, _pyproject

    path = _pyproject.find_pyproject(str(Path.cwd()))
    return [*(sorted(_pyproject.read_tables(path)) if path is not None else ()), *_builtin.names()]


def _cases() -> Iterable[str]:
    from faultinject.cli._state import STATE
    from faultinject.reports import read_report

    # Those that accuse first: they are what one replays.
    cases = read_report(STATE / "last.json").cases
    return [case.id for case in sorted(cases, key=lambda case: not case.violation)]


cases = _quiet(_cases)
confirmations = _quiet(lambda: ("auto", "each", "class", "none"))
faults = _in_a_list(_faults)
formats = _quiet(_formats)
levels = _quiet(_levels)
phases = _in_a_list(lambda: ("before", "after"))
probes = _quiet(_probes)
runners = _quiet(lambda: ("auto", "fork", "zygote", "spawn"))
targets = _quiet(_targets)
