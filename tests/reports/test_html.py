"""The page, read as text: what it holds, and that nothing in it comes from or goes to anywhere else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from faultinject.facts import Recording, Step
from faultinject.reports import Suite, summarise
from faultinject.reports._html import render_html
from tests.reports._pages import HOSTILE, hostile, suite, with_second, written
from tests.reports._sample import ENVIRONMENT, NESTED, POINTS, RECORDING, point, problem, result, sweep

READY = Step(1, "a:ready", 0, caller="core")


class Elements(HTMLParser):
    """Every element with its attributes, and the text of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def data_of(page: str) -> list[dict]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found
    return json.loads(found[1])


def test_nothing_is_loaded_from_anywhere() -> None:
    page = render_html([suite(), hostile()])
    for tag, attributes in Elements(page).found:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "video", "audio"), tag
        assert not {"src", "srcset", "action", "data", "background", "style"} & attributes.keys(), (
            tag,
            attributes,
        )
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        assert (attributes.get("href") or "#").startswith("#"), attributes
    style, script = (
        re.search(rf"<{tag}>(.*?)</{tag}>", page, re.S)[1]
        for tag in ("style", "script")  # type: ignore[index]
    )
    assert "url(" not in style
    assert "@import" not in style
    assert not re.search(
        r"https?://|fetch\(|XMLHttpRequest|innerHTML|outerHTML|insertAdjacent|eval\(", script
    )


def test_the_page_may_run_its_own_script_and_load_nothing() -> None:
    (policy,) = [
        attributes["content"]
        for tag, attributes in Elements(render_html([suite()])).found
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


def test_every_case_is_in_it_with_all_that_is_known_of_it() -> None:
    (data,) = data_of(render_html([suite()]))
    assert [case["id"] for case in data["cases"]] == [case.id for case in suite().results]
    leak = next(case for case in data["cases"] if case["step"] == 5 and case["verdict"] == "leak")
    assert leak["owned"] == ["executor", "scheduler"]
    assert leak["left"] == ["executor", "+2 processes", "+480 MiB shared memory"]
    assert leak["grade"] == "never given back"
    assert leak["got"] == "RuntimeError: injected"
    assert leak["violation"] is True
    assert [gain["name"] for gain in data["gains"]] == ["executor", "scheduler"]


def test_the_matrix_says_in_words_what_its_colours_say() -> None:
    page = render_html([suite()])
    assert 'aria-label="step 3, Engine._profile, before RuntimeError: 1 leak"' in page
    cells = re.findall(r'class="cell tone-(\w+) heat-(\d)"[^>]*><span>([^<]*)</span>', page)
    assert {tone: word for tone, _, word in cells} == {
        "nested": "(leak)", "unsteady": "unsteady", "missed": "missed", "clean": "clean", "bad": "leak",
    }  # fmt: skip
    assert {heat for _, heat, _ in cells} == {"4"}


def test_a_cell_is_the_hotter_the_more_of_its_cases_are_bad() -> None:
    at = [point(3, occurrence=number) for number in range(1, 9)]
    cases = [result(one, *([problem()] if number < 2 else [])) for number, one in enumerate(at)]
    page = render_html([Suite(RECORDING, ENVIRONMENT, tuple(cases), summarise(cases, RECORDING))])
    assert 'class="cell tone-bad heat-1"' in page
    assert "<span>2 leak</span><span>6 clean</span>" in page


def test_the_findings_are_those_of_the_terminal() -> None:
    page = render_html([suite()])
    assert "leak, 8 cases: Engine.__init__ has no handler around line 17 that releases executor" in page
    assert "faultinject replay 01c6c5df" in page
    assert "Beneath the target: 1 finding, each of the frame it is charged to" in page
    assert "Unsteady: 1 case whose repetitions disagree" in page
    assert "Not reached: 1 case of which nothing is known" in page
    assert "12 violations in 20 cases at level steps." in page


def test_names_of_the_target_are_text_wherever_they_stand() -> None:
    page = render_html([hostile()])
    # Three scripts' worth of tags are the page's own: its data and its script.
    assert page.lower().count("<script") == 2
    assert page.lower().count("</script") == 2
    assert {tag for tag, _ in Elements(page).found} == {
        tag for tag, _ in Elements(render_html([suite()])).found
    }
    (data,) = data_of(page)
    assert data["target"] == HOSTILE
    assert data["cases"][0]["left"] == [HOSTILE]


def test_what_would_move_a_cursor_or_has_no_encoding_is_an_escape() -> None:
    odd = result(point(3), problem(what="red \x1b[31m \u202e \ud800"), left=("a\nb",))
    page = render_html([Suite(RECORDING, ENVIRONMENT, (odd,), summarise([odd], RECORDING))])
    assert "\x1b" not in page
    assert "\u202e" not in page
    page.encode()
    assert data_of(page)[0]["cases"][0]["left"] == ["a\\nb"]


def test_several_sweeps_are_sections_of_one_page() -> None:
    page = render_html([suite(), hostile()])
    assert page.count('<section class="sweep"') == 2
    assert len(data_of(page)) == 2


def test_second_faults_have_a_table_of_their_own() -> None:
    page = render_html([with_second()])
    assert "Second faults" in page
    assert '<tr data-release="executor.shutdown">' in page
    assert [case["release"] for case in data_of(page)[0]["cases"] if case.get("release")] == [
        "executor.shutdown"
    ]


@pytest.mark.parametrize(
    "recording",
    [
        Recording(target="a:B", level="steps", points=(), steps=(), owned=()),
        Recording(target="a:B", level="milestones", points=(), steps=(READY,), owned=()),
    ],
    ids=["nothing to fail", "a tree"],
)
def test_a_sweep_without_a_case_is_a_page_too(recording: Recording) -> None:
    page = render_html([Suite(recording, ENVIRONMENT, (), summarise([], recording, complete=False))])
    assert "No violation in 0 cases" in page
    assert "The sweep was interrupted." in page


def test_a_page_of_many_cases_is_smaller_than_their_report(tmp_path: Path) -> None:
    one = sweep()[12]
    many = [msgspec.structs.replace(one, id=f"{number:08x}") for number in range(2000)]
    page = written(tmp_path, Suite(RECORDING, ENVIRONMENT, tuple(many), summarise(many, RECORDING)))
    assert page.stat().st_size < len(msgspec.json.encode(many))
    assert result(POINTS[0], NESTED).id in {case.id for case in suite().results}


def test_only_who_asks_for_a_page_waits_for_what_makes_it() -> None:
    script = "import sys, faultinject.cli, faultinject.reports; print('jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"
