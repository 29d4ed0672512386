"""The page of a gate's sweep: it says what the gate says, and marks what is suppressed."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

from faultinject.facts import CaseResult
from faultinject.reports import Change
from faultinject.reports._html import render_html
from tests.reports._sample import sweep
from tests.reports._suites import BASELINE, CHANGES, WHY, gated, suite


def sentences(page: str) -> list[tuple[str, str]]:
    return re.findall(r'<p class="sentence is-(\w+)">([^<]*)</p>', page)


def cases_of(page: str) -> list[dict[str, Any]]:
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert data is not None
    return [case for one in json.loads(data[1]) for case in one["cases"]]


def test_where_all_is_suppressed_the_gate_passes_and_so_does_the_page() -> None:
    page = render_html([gated(status=0)])
    assert sentences(page) == [
        ("good", "The gate passes: nothing new in 20 cases at level steps (12 cases suppressed)."),
    ]
    assert "tone-bad" not in page.partition("<main")[2].partition("<script")[0]
    assert "<h2>Charged to the target</h2>" not in page
    assert f"Suppressed in {BASELINE}: 2 findings" in page
    assert f"<dt>suppressed</dt><dd>{WHY.removeprefix('suppressed ')}</dd>" in page


def test_a_suppressed_case_is_marked_wherever_it_is_shown() -> None:
    page = render_html([gated(steps=(5,), changes=CHANGES)])
    marked = {case["id"] for case in cases_of(page) if case.get("excused")}
    assert marked == {r.id for r in sweep() if r.point.step == 5}
    assert 'aria-label="step 4, Scheduler.__init__, before RuntimeError: 1 leak"' in page
    assert 'aria-label="step 5, freeze_heap, before RuntimeError: 1 leak, 1 suppressed"' in page
    cells = re.findall(r'class="cell tone-(\w+) heat-4"[^>]*>(.*?)</button>', page)
    assert cells.count(("excused", "<span>leak</span><span>suppressed</span>")) == 4
    assert cells.count(("bad", "<span>leak</span>")) == 8
    words = re.findall(r'data-verdict="([^"]+)" aria-pressed="false">[^<]*<b>(\d+)</b>', page)
    assert words == [("leak", "12"), ("clean", "8"), ("suppressed", "4")]


def test_a_cell_that_is_counted_counts_them() -> None:
    twice = [*sweep(), *(again(r) for r in sweep() if r.point.step == 5)]
    page = render_html([suite(twice, excused={r.id: WHY for r in sweep() if r.point.step == 5})])
    assert "<span>2 leak</span><span>1 suppressed</span>" in page


def again(one: CaseResult) -> CaseResult:
    return msgspec.structs.replace(one, id=f"{int(one.id, 16) ^ 1:08x}")


def test_what_the_gate_fails_for_is_on_the_page() -> None:
    page = render_html([gated(steps=(5,), changes=CHANGES)])
    assert sentences(page) == [
        (
            "bad",
            "The gate fails: 1 new violation, 1 fixed and still listed, 1 expired in 20 cases at level "
            "steps (4 cases suppressed).",
        )
    ]
    for kind in ("new violation", "fixed, still listed", "expired", "changed"):
        assert f"<b>{kind}</b>" in page
    assert f"<code>{BASELINE}:12</code>" in page
    charged = page.partition("<h2>Charged to the target</h2>")[2].partition("<h2>")[0]
    assert charged.count("leak, 8 cases") == 1
    assert "leak, 4 cases" not in charged.partition("<summary>")[0]


def test_a_target_that_changed_is_to_be_reviewed() -> None:
    page = render_html([gated(status=3, changes=CHANGES[3:], found=40)])
    assert sentences(page) == [
        (
            "review",
            "No new violation in 20 of 40 cases at level steps (12 cases suppressed), but the target "
            "changed: review, then faultinject gate --accept.",
        )
    ]


@pytest.mark.parametrize(
    ("statuses", "said"),
    [
        ((0, 0), ("good", "The gate passes: nothing new in 40 cases of 2 sweeps (24 cases suppressed).")),
        (
            (0, 1),
            ("bad", "The gate fails: 1 new violation in 40 cases of 2 sweeps (24 cases suppressed)."),
        ),
    ],
)
def test_of_several_sweeps_one_sentence_is_the_gates(
    statuses: tuple[int, int], said: tuple[str, str]
) -> None:
    page = render_html([gated(status=status, changes=CHANGES[:status]) for status in statuses])
    assert sentences(page)[:2] == [
        said, ("good", "Nothing new in 20 cases at level steps (12 cases suppressed)."),
    ]  # fmt: skip


def test_a_sweep_that_could_not_be_made_is_what_the_page_says() -> None:
    broken = suite([], status=2, changes=(Change("broken", "it could not be swept", "no such callable"),))
    assert sentences(render_html([broken])) == [("bad", "The gate fails: the sweep could not be made.")]
    assert sentences(render_html([gated(status=0), broken]))[0] == (
        "bad",
        "The gate fails: 1 of 2 sweeps could not be made (acme:Engine at level steps), nothing new in "
        "20 cases of 1 sweep (12 cases suppressed).",
    )


def test_a_page_without_a_gate_speaks_of_none() -> None:
    page = render_html([suite()])
    assert sentences(page) == [("bad", "12 violations in 20 cases at level steps.")]
    assert "suppressed" not in page.partition("<main")[2].partition("<script")[0]
