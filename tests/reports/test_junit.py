from __future__ import annotations

from xml.etree import ElementTree as xml

import junitparser
import msgspec
import pytest

from faultinject.reports._junit import render_junit
from tests.reports._sample import POINTS, point, problem, result, sweep
from tests.reports._suites import CHANGES, suite

ALLOWED = {
    "testsuites": ({"testsuite"}, {"name", "time", "tests", "failures", "errors"}),
    "testsuite": ({"properties", "testcase"}, {"name", "tests", "failures", "errors", "skipped", "time"}),
    "properties": ({"property"}, set()),
    "property": (set(), {"name", "value"}),
    "testcase": ({"failure", "skipped"}, {"name", "classname", "time"}),
    "failure": (set(), {"message", "type"}),
    "skipped": (set(), {"message"}),
}
"""Of the elements and attributes that the schema of Jenkins' xUnit plugin has, those that are used here."""


def check_form(text: str) -> xml.Element:
    """What Jenkins' schema and GitLab's parser ask of a document."""
    root = xml.fromstring(text)
    for element in root.iter():
        children, attributes = ALLOWED[element.tag]
        assert {child.tag for child in element} <= children, element.tag
        assert set(element.attrib) <= attributes, element.attrib
        if element.tag == "testcase":
            assert len(element) <= 1
            assert element.get("name")
            assert element.get("classname")
    for suite_ in root.iter("testsuite"):
        assert len(suite_.findall("testcase")) == int(suite_.get("tests", ""))
        assert len(suite_.findall("testcase/failure")) == int(suite_.get("failures", ""))
        assert len(suite_.findall("testcase/skipped")) == int(suite_.get("skipped", ""))
    return root


def test_each_case_is_a_test_and_each_violation_a_failure() -> None:
    check_form(render_junit([suite()]))
    parsed = junitparser.JUnitXml.fromstring(render_junit([suite()]).encode())

    assert (parsed.tests, parsed.failures, parsed.errors) == (20, 12, 0)
    (read,) = list(parsed)
    assert read.name == "acme:Engine at level steps"
    failing = [case for case in read if not case.is_passed]
    assert len(failing) == 12
    assert failing[0].classname == "acme:Engine"
    (failure,) = failing[0].result
    assert failure.type == "leak"
    assert "acme/engine.py:17" in failure.text
    assert f"faultinject replay {sweep()[8].id}" in failure.text


def test_a_name_outlives_an_edit_that_moves_lines_and_is_there_once() -> None:
    moved = [msgspec.structs.replace(r, point=msgspec.structs.replace(r.point, line=99)) for r in sweep()]
    names = [
        [case.get("name") for case in check_form(render_junit([suite(results)])).iter("testcase")]
        for results in (sweep(), moved)
    ]
    assert names[0] == names[1]
    assert len(set(names[0])) == len(names[0])


@pytest.mark.parametrize("verdict", ["not-reached", "unstable"])
def test_what_nothing_is_known_of_is_skipped(verdict: str) -> None:
    root = check_form(render_junit([suite([result(POINTS[0], verdict=verdict)])]))
    (skipped,) = root.iter("skipped")
    assert "nobody is accused" in skipped.get("message", "") or "nothing is known" in skipped.get(
        "message", ""
    )


def test_what_is_charged_beneath_the_target_is_no_failure() -> None:
    nested = problem(charged_to="acme.executor:Executor.__init__", violation=False)
    assert not list(check_form(render_junit([suite([result(POINTS[2], nested)])])).iter("failure"))


def test_a_gate_skips_what_is_suppressed_and_fails_for_what_is_wrong_with_its_list() -> None:
    excused = {r.id: "suppressed until 2030-01-01 by ann: known" for r in sweep() if r.violation}
    root = check_form(render_junit([suite(excused=excused, changes=CHANGES)]))

    assert len(list(root.iter("skipped"))) == 12
    names = [case.get("name") for case in root.iter("testcase") if case.find("failure") is not None]
    assert names == [f"baseline: {change.title}" for change in CHANGES[1:]]


def test_text_of_the_target_cannot_break_the_document() -> None:
    awkward = point(3, callee='acme.engine:Engine.<lambda>\x00\ud800 & "]]>')
    leak = problem(what="\x1b[31m left & \x0c\ufffe")
    root = check_form(render_junit([suite([result(awkward, leak)])]))
    (failure,) = root.iter("failure")
    assert "\\x1b[31m left & \\x0c\\ufffe" in failure.get("message", "")


def test_several_sweeps_are_several_suites() -> None:
    root = check_form(render_junit([suite(), suite()]))
    assert root.get("tests") == "40"
    assert len(root) == 2
