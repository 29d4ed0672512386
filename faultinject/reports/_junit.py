"""JUnit XML: a test case for each case, in the form that Jenkins and GitLab read.

The elements and attributes are those of the schema that Jenkins' xUnit plugin checks against
(jenkinsci/xunit-plugin, ``junit-10.xsd``): a `testcase` has a name, a classname and a time, and at most one
of `failure`, `error` and `skipped`.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as xml

import msgspec

from faultinject.facts import CaseResult
from faultinject.points import describe_fault, describe_point
from faultinject.reports._suite import Suite
from faultinject.reports._words import LONG, UNKNOWN


def render_junit(suites: Sequence[Suite]) -> str:
    """The document: a `testsuite` for each sweep."""
    root = xml.Element("testsuites", {"name": "faultinject"})
    total = failures = errors = 0
    for suite in suites:
        element = _suite(suite)
        total += int(element.get("tests", "0"))
        failures += int(element.get("failures", "0"))
        errors += int(element.get("errors", "0"))
        root.append(element)
    root.set("tests", str(total))
    root.set("failures", str(failures))
    root.set("errors", str(errors))
    root.set("time", f"{sum(suite.summary.seconds for suite in suites):.3f}")
    xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def _suite(suite: Suite) -> xml.Element:
    environment = suite.environment
    element = xml.Element("testsuite", {"name": _text(suite.name)})
    properties = xml.SubElement(element, "properties")
    for name, value in (
        ("target version", environment.target_version),
        ("python", environment.python),
        ("faultinject", environment.faultinject),
        ("runner", environment.runner),
    ):
        if value:
            xml.SubElement(properties, "property", {"name": name, "value": _text(value)})
    failing = {result.id for result in suite.failing()}
    failures = skipped = 0
    for result in suite.results:
        case = _case(element, _name(result), suite.recording.target, result.seconds)
        if result.id in failing:
            failures += 1
            _failure(case, result, suite.replay(result.id))
        elif (why := _why_skipped(suite, result)) is not None:
            skipped += 1
            xml.SubElement(case, "skipped", {"message": _text(why)})
    for change in suite.other_changes():
        broken = change.kind == "broken"
        name = "the sweep" if broken else f"baseline: {change.title}"
        case = _case(element, name, suite.recording.target, 0.0)
        attributes = {"message": _text(change.title), "type": change.kind}
        xml.SubElement(case, "error" if broken else "failure", attributes).text = _text(change.text)
    errors = len(suite.broken)
    failures += len(suite.other_changes()) - errors
    counts = {"tests": len(element) - 1, "failures": failures, "errors": errors, "skipped": skipped}
    for name, number in counts.items():
        element.set(name, str(number))
    element.set("time", f"{suite.summary.seconds:.3f}")
    return element


def _case(suite: xml.Element, name: str, classname: str, seconds: float) -> xml.Element:
    attributes = {"name": _text(name), "classname": _text(classname), "time": f"{seconds:.3f}"}
    return xml.SubElement(suite, "testcase", attributes)


def _name(result: CaseResult) -> str:
    # A line in it would break the history that a server keeps by name with every edit above.
    point = msgspec.structs.replace(result.point, line=0)
    often = "" if result.times == 1 else " always" if result.times == 0 else f" x{result.times}"
    return f"{describe_point(point)} {describe_fault(result.fault, result.second)}{often} [{result.id}]"


def _failure(case: xml.Element, result: CaseResult, again: str) -> None:
    mine = [problem for problem in result.problems if problem.violation]
    what = "; ".join(problem.what for problem in mine if problem.what)
    message = f"{result.verdict}: {what or LONG.get(result.verdict, result.verdict)}"
    failure = xml.SubElement(case, "failure", {"message": _text(message), "type": result.verdict})
    where = f"{result.point.file}:{result.point.line}" if result.point.file else result.point.caller
    lines = [
        f"at {where}",
        f"charged to {result.charged_to}",
        f"owned: {', '.join(result.owned) or 'nothing'}",
        f"left: {', '.join(result.left) or 'nothing'}",
        f"the caller got {result.exception}" if result.exception else "",
        f"replay: {again}",
    ]
    failure.text = _text("\n".join(line for line in lines if line))


def _why_skipped(suite: Suite, result: CaseResult) -> str | None:
    if suite.ruling is not None and result.id in suite.ruling.excused:
        return suite.ruling.excused[result.id]
    return UNKNOWN.get(result.verdict)


def _text(text: str) -> str:
    """Text with what XML 1.0 has no character for written as an escape."""
    return "".join(c if _is_xml(ord(c)) else c.encode("unicode_escape").decode("ascii") for c in text)


def _is_xml(code: int) -> bool:
    if code < 0x20:
        return code in (0x9, 0xA, 0xD)
    return code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000
