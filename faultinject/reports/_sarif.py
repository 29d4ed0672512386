"""SARIF 2.1.0, for code scanning: a result for each finding, at the line where it is to be fixed.

The standard: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html. Only what is charged to a
target is a result; what lies beneath it is that layer's own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

import msgspec

from faultinject.facts import Finding
from faultinject.reports._json import encode
from faultinject.reports._places import Place, place_of, repository_root
from faultinject.reports._suite import Change, Suite
from faultinject.reports._words import LONG, counted

SCHEMA_URI: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
FINGERPRINT: Final = "faultinjectFinding/v1"
_ROOT: Final = "%SRCROOT%"
_ADVICE: Final = {
    "fixed": "A suppression of the gate's baseline lists a violation that is fixed",
    "expired": "A suppression of the gate's baseline has expired",
    "changed": "The fault points or the ownership of a target are not those of the gate's baseline",
}


def render_sarif(suites: Sequence[Suite]) -> str:
    """The document: one run, with the results of every sweep."""
    root = repository_root()
    results: list[dict[str, Any]] = []
    for suite in suites:
        by_id = {result.id: result for result in suite.results}
        fallback = Place(suite.ruling.baseline, 1) if suite.ruling is not None else Place()
        for excused, cases in ((False, suite.failing()), (True, suite.excused())):
            for finding in suite.findings_of(cases):
                smallest = by_id[finding.smallest]
                place = place_of(finding, smallest, suite.recording, root)
                entry = _finding(suite, finding, place if place.file else fallback)
                if excused and suite.ruling is not None:
                    why = suite.ruling.excused[finding.smallest]
                    entry["suppressions"] = [{"kind": "external", "justification": why}]
                results.append(entry)
        results += [
            _change(suite, change, fallback) for change in suite.other_changes() if change.kind != "broken"
        ]
    used = sorted({result["ruleId"] for result in results})
    for result in results:
        result["ruleIndex"] = used.index(result["ruleId"])
    versions = {suite.environment.faultinject for suite in suites}
    driver = {
        "name": "faultinject",
        "version": next(iter(versions), ""),
        "rules": [_rule(name) for name in used],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(suites)],
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository"}}},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    document = {"$schema": SCHEMA_URI, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(encode(document), indent=2).decode() + "\n"


def _finding(suite: Suite, finding: Finding, place: Place) -> dict[str, Any]:
    resources = f" ({', '.join(finding.resources)})" if finding.resources else ""
    text = (
        f"{finding.handler}: {LONG.get(finding.verdict, finding.verdict)}{resources}, "
        f"{counted(finding.count, 'case')} of {suite.name}, such as {finding.place}. "
        f"Replay it with: {suite.replay(finding.smallest)}"
    )
    identity = (
        suite.recording.target,
        suite.recording.level,
        finding.verdict,
        finding.charged_to,
        *finding.resources,
    )
    return {
        "ruleId": finding.verdict,
        "level": "error",
        "message": {"text": text},
        "partialFingerprints": {FINGERPRINT: _digest(identity)},
        "properties": {"cases": finding.count, "smallest": finding.smallest},
        **_locations(place, finding.charged_to),
    }


def _change(suite: Suite, change: Change, fallback: Place) -> dict[str, Any]:
    place = Place(change.file, change.line) if change.file else fallback
    identity = (suite.recording.target, suite.recording.level, change.kind, change.title)
    return {
        "ruleId": f"baseline-{change.kind}",
        "level": "warning",
        "message": {"text": f"{suite.name}: {change.title}. {change.text}"},
        "partialFingerprints": {FINGERPRINT: _digest(identity)},
        **_locations(place, ""),
    }


def _invocation(suites: Sequence[Suite]) -> dict[str, Any]:
    """Whether every sweep came to its end, and of those that could not be made why."""
    said = [_notification(suite, change) for suite in suites for change in suite.broken]
    successful = all(suite.summary.complete for suite in suites)
    return {"executionSuccessful": successful} | ({"toolExecutionNotifications": said} if said else {})


def _notification(suite: Suite, change: Change) -> dict[str, Any]:
    """A sweep that could not be made: nothing is known of its target."""
    return {
        "level": "error",
        "message": {"text": f"{suite.name}: {change.title}. {change.text}"},
        **_locations(Place(change.file, change.line), ""),
    }


def _locations(place: Place, frame: str) -> dict[str, Any]:
    location: dict[str, Any] = {}
    if place.file:
        location["physicalLocation"] = {
            "artifactLocation": {"uri": quote(place.file), "uriBaseId": _ROOT},
            "region": {"startLine": max(place.line, 1)},
        }
    if frame:
        location["logicalLocations"] = [{"fullyQualifiedName": frame, "kind": "function"}]
    return {"locations": [location]} if location else {}


def _rule(name: str) -> dict[str, Any]:
    kind = name.removeprefix("baseline-")
    what = _ADVICE[kind] if name.startswith("baseline-") else next(
        (text for verdict, text in LONG.items() if verdict == name), name
    )  # fmt: skip
    return {
        "id": name,
        "shortDescription": {"text": f"{what[:1].upper()}{what[1:]}"},
        "defaultConfiguration": {"level": "warning" if name.startswith("baseline-") else "error"},
        "properties": {"tags": ["reliability", "resource-management"]},
    }


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
