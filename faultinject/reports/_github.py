"""Annotations on the lines of a pull request: GitHub's workflow commands, on standard output.

https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands says how they are written.
Of one step GitHub shows ten errors and ten warnings: a finding is one, however many cases it has.
"""

from __future__ import annotations

from collections.abc import Sequence

from faultinject.reports._places import Place, place_of, repository_root
from faultinject.reports._suite import Suite
from faultinject.reports._words import counted


def render_github(suites: Sequence[Suite]) -> str:
    """A line for each finding charged to a target, and for each other thing that a gate fails for."""
    root = repository_root()
    lines: list[str] = []
    for suite in suites:
        by_id = {result.id: result for result in suite.results}
        fallback = Place(suite.ruling.baseline, 1) if suite.ruling is not None else Place()
        for finding in suite.findings_of(suite.failing()):
            place = place_of(finding, by_id[finding.smallest], suite.recording, root)
            text = (
                f"{finding.handler}\n{counted(finding.count, 'case')} of {suite.name}, "
                f"such as {finding.place}\nreplay: {suite.replay(finding.smallest)}"
            )
            lines.append(_command("error", place if place.file else fallback, finding.verdict, text))
        for change in suite.other_changes():
            place = Place(change.file, change.line) if change.file else fallback
            level = "error" if change.kind != "changed" else "warning"
            lines.append(_command(level, place, change.title, f"{suite.name}: {change.text}"))
    return "".join(f"{line}\n" for line in lines)


def _command(level: str, place: Place, title: str, text: str) -> str:
    properties = {"title": f"faultinject: {title}"}
    if place.file:
        properties = {"file": place.file, "line": str(max(place.line, 1))} | properties
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {written}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
