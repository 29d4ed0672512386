from __future__ import annotations

from faultinject.reports._markdown import ROWS, render_markdown
from tests.reports._sample import POINTS, point, problem, result, sweep
from tests.reports._suites import BASELINE, CHANGES, suite


def test_a_sweep_is_a_sentence_its_findings_and_its_matrix() -> None:
    text = render_markdown([suite()])
    assert "**12 violations** in 20 cases at level steps (leak 12, clean 8)." in text
    assert f"| 8 | `faultinject replay {sweep()[8].id} --target acme:Engine --release shutdown` |" in text
    assert "| 3 | `Engine._profile` | executor | leak | leak | leak | leak |" in text


def test_a_clean_sweep_says_so() -> None:
    assert "No violation in 1 case at level steps (clean 1)." in render_markdown([suite([result(POINTS[0])])])


def test_a_gate_says_what_changed_and_what_is_suppressed() -> None:
    excused = {r.id: "known" for r in sweep() if r.violation}
    text = render_markdown([suite(excused=excused, changes=CHANGES, found=40, ran=20)])
    assert "**The gate fails**: 20 of 40 cases ran" in text
    assert f"12 cases suppressed in `{BASELINE}`." in text
    assert "| expired | leak of scheduler: good until 2020-01-01 |" in text
    passed = render_markdown([suite([result(POINTS[0])], status=0, found=1, ran=1)])
    assert "The gate passes: 1 of 1 cases ran" in passed


def test_nothing_in_a_name_is_markup() -> None:
    odd = point(3, callee="acme.engine:Engine.a|b`c\n# no heading")
    leak = problem(resources=("<img src=x>|[x](http://example.com)",))
    text = render_markdown([suite([result(odd, leak)])])
    assert "<img" not in text.replace("\\<", "")
    assert "\\<img src=x\\>\\|\\[x\\]\\(http://example.com\\)" in text
    rows = [line for line in text.splitlines() if line.startswith("|") and "---" not in line]
    assert all(line.replace("\\|", "").count("|") in (5, 7, 4) for line in rows), rows
    assert "\n# no heading" not in text


def test_nothing_in_a_fault_is_markup_nor_a_command_of_a_pipeline() -> None:
    fault = "<img src=x onerror=alert(1)>|x|\n\n# no heading\n::error::no command"
    text = render_markdown([suite([result(point(3), problem(), fault=fault)])])
    assert "before \\<img src=x onerror=alert\\(1\\)\\>\\|x\\|" in text
    assert "<img" not in text.replace("\\<", "")
    assert not [line for line in text.splitlines() if line.startswith(("# ", "::"))]


def test_a_long_table_is_cut() -> None:
    many = [result(point(3, callee=f"m:f{n}"), problem(resources=(f"r{n}",))) for n in range(ROWS + 7)]
    assert "and 7 more" in render_markdown([suite(many)])
