"""The page in a real Chromium: clicked, typed into, looked at by keyboard, in the dark and on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reports._chromium import Browser
from tests.reports._pages import HOSTILE, hostile, suite, with_second, written
from tests.reports._sample import point, problem, result, sweep
from tests.reports._suites import CHANGES, WHY, gated
from tests.reports._suites import suite as sample

SHOWN = (
    "[...document.querySelectorAll('.cell')]"
    ".filter(cell => cell.checkVisibility({visibilityProperty: true})).length"
)
FOCUSED = "document.activeElement.getAttribute('aria-label') || document.activeElement.id"
EVENTS = "[...document.querySelectorAll('.timeline li')].map(e => [...e.children].map(c => c.textContent))"
SQUEEZED = "document.documentElement.scrollWidth > innerWidth"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return written(tmp_path, suite())


@pytest.fixture(autouse=True)
def asks_for_nothing_and_complains_of_nothing(browser: Browser, tmp_path: Path) -> None:
    yield
    assert {url.partition("#")[0] for url in browser.requests()} <= {(tmp_path / "report.html").as_uri()}
    assert browser.complaints() == []


CLOSED = "location.hash === '' && document.activeElement.matches('.cell')"
"""The event that tells of it comes after the closing."""


def cell(step: int, column: int) -> str:
    return f'tr[data-step="{step}"] td[data-column="{column}"] .cell'


def test_a_click_on_a_cell_opens_the_timeline_of_its_case(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.click(cell(5, 0))
    assert browser.value("document.querySelector('#case').open")
    assert browser.text("#case-title") == "before freeze_heap (Engine.__init__:31), RuntimeError"
    assert browser.value(EVENTS) == [
        [
            "acquired",
            "executor (+2 processes, +480 MiB shared memory, +52 fds)",
            "step 2, Executor.__init__, line 14",
        ],
        ["acquired", "scheduler", "step 4, Scheduler.__init__, line 23"],
        ["fault", "RuntimeError before freeze_heap (Engine.__init__:31)", "acme/engine.py:31"],
        ["released", "nothing"],
        ["left", "executor", "never given back"],
        ["left", "+2 processes", "never given back"],
        ["left", "+480 MiB shared memory", "never given back"],
        ["the caller got", "RuntimeError: injected"],
    ]
    assert "faultinject replay 1db99052" in browser.text("#body")
    browser.click("#close")
    browser.until("!document.querySelector('#case').open")


def test_a_clean_case_left_nothing(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.click(cell(2, 0))
    assert [event[:2] for event in browser.value(EVENTS)][-2:] == [
        ["left", "nothing"], ["the caller got", "RuntimeError: injected"],
    ]  # fmt: skip


def test_a_link_to_a_case_opens_it(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.click("a[href='#case-1db99052']")
    browser.until("document.querySelector('#case').open")
    assert browser.value("location.hash") == "#case-1db99052"
    browser.press("Escape")
    browser.until("!document.querySelector('#case').open")
    browser.until("location.hash === ''")


def test_the_filters_leave_what_was_asked_for(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.text("#shown") == "20 cases"
    assert browser.value(SHOWN) == 20
    browser.click(".word[data-verdict='unstable']")
    assert browser.text("#shown") == "1 of 20 cases"
    assert browser.value(SHOWN) == 1
    browser.click(".word[data-verdict='clean']")
    assert browser.text("#shown") == "6 of 20 cases"
    browser.click("#reset")
    browser.until(f"{SHOWN} === 20")
    browser.click("#mine")
    assert browser.text("#shown") == "12 of 20 cases"
    assert browser.value("[...document.querySelectorAll('tbody tr[data-step]')].map(r => r.hidden)") == [
        True, True, False, False, False,
    ]  # fmt: skip
    browser.click("#reset")
    browser.until(f"{SHOWN} === 20")
    browser.click("#search")
    browser.type("scheduler")
    assert browser.text("#shown") == "8 of 20 cases"


def test_a_phase_and_a_fault_leave_their_columns(browser: Browser, page: Path) -> None:
    browser.open(page)
    heads = "[...document.querySelectorAll('th[data-column]')].filter(h => !h.hidden).map(h => h.title)"
    for chosen, down in (("#phase", 2), ("#fault", 1)):
        browser.value(f"document.querySelector('{chosen}').focus()")
        for _ in range(down):
            browser.press("ArrowDown")
    assert browser.value(heads) == ["after KeyboardInterrupt"] or browser.value(heads) == [
        "after RuntimeError"
    ]
    assert browser.value(SHOWN) == 5
    assert browser.text("#shown") == "5 of 20 cases"


def test_all_of_it_is_reached_by_keyboard(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.press("Tab")
    assert browser.value("document.activeElement.className") == "skip"
    seen = set()
    for _ in range(60):
        browser.press("Tab")
        seen.add(browser.value(f"document.activeElement.closest('.cell') ? 'cell' : {FOCUSED}"))
        if "cell" in seen:
            break
    assert {"theme", "search", "phase", "fault", "mine", "reset", "cell"} <= seen
    assert browser.value(FOCUSED).startswith("step 1, load_plugins, before RuntimeError")
    for key, where in (
        ("ArrowRight", "step 1, load_plugins, before KeyboardInterrupt: "),
        ("ArrowDown", "step 2, Executor.__init__, before KeyboardInterrupt: "),
        ("End", "step 2, Executor.__init__, after KeyboardInterrupt: "),
        ("ArrowRight", "step 2, Executor.__init__, after KeyboardInterrupt: "),
        ("ArrowDown", "step 3, Engine._profile, after KeyboardInterrupt: "),
        ("Home", "step 3, Engine._profile, before RuntimeError: "),
        ("ArrowUp", "step 2, Executor.__init__, before RuntimeError: "),
        ("ArrowDown", "step 3, Engine._profile, before RuntimeError: "),
    ):
        browser.press(key)
        assert browser.value(FOCUSED).startswith(where), (key, browser.value(FOCUSED))
    assert browser.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.press("Enter")
    browser.until("document.querySelector('#case').open")
    assert browser.value(FOCUSED) == "close"
    browser.press("Escape")
    browser.until("!document.querySelector('#case').open")
    assert browser.value(FOCUSED).startswith("step 3, Engine._profile, before RuntimeError")


def test_arrows_pass_over_what_a_filter_took_away(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.click(".word[data-verdict='clean']")
    browser.value("document.querySelector('.cell[tabindex=\"0\"]').focus()")
    assert browser.value(FOCUSED).startswith("step 1, load_plugins, after KeyboardInterrupt")
    browser.press("ArrowDown")
    assert browser.value(FOCUSED).startswith("step 2, Executor.__init__, after KeyboardInterrupt")


CONTRAST = """
(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  let worst = [99, ''];
  for (const node of document.querySelectorAll('body *')) {
    const own = [...node.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !node.checkVisibility()) continue;
    if (['SCRIPT', 'STYLE', 'OPTION', 'NOSCRIPT'].includes(node.tagName)) continue;
    const [a, b] = [light(rgb(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst[0]) worst = [ratio, `${node.tagName}.${node.className} ${node.textContent}`];
  }
  return worst;
})()
"""
"""The least contrast of any text with what is behind it (WCAG 2.2, 1.4.3: at least 4.5)."""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_stands_out_from_its_ground(browser: Browser, page: Path, dark: bool) -> None:
    browser.open(page, dark=dark)
    ratio, where = browser.value(CONTRAST)
    assert ratio >= 4.5, where
    browser.click(cell(3, 0))
    ratio, where = browser.value(CONTRAST.replace("'body *'", "'#case, #case *'"))
    assert ratio >= 4.5, where


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_suppressed_case_says_why_and_is_found_by_a_filter(
    browser: Browser, tmp_path: Path, dark: bool
) -> None:
    browser.open(written(tmp_path, gated(steps=(5,), changes=CHANGES)), dark=dark)
    ratio, where = browser.value(CONTRAST)
    assert ratio >= 4.5, where
    browser.click(".word[data-verdict='suppressed']")
    assert browser.text("#shown") == "4 of 20 cases"
    assert browser.value(SHOWN) == 4
    browser.click(cell(5, 0))
    assert WHY in browser.text("#body")
    ratio, where = browser.value(CONTRAST.replace("'body *'", "'#case, #case *'"))
    assert ratio >= 4.5, where


def test_it_is_dark_where_the_system_is_and_where_one_says_so(browser: Browser, page: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    browser.open(page)
    assert browser.value(ground) == "rgb(255, 255, 255)"
    browser.prefer(dark=True)
    browser.until(f"{ground} === 'rgb(20, 23, 27)'")
    browser.until("document.querySelector('#theme').getAttribute('aria-pressed') === 'true'")
    browser.click("#theme")
    assert browser.value(ground) == "rgb(255, 255, 255)"
    browser.prefer(dark=False)
    browser.click("#theme")
    assert browser.value(ground) == "rgb(20, 23, 27)"


@pytest.mark.parametrize("width", [320, 390])
def test_on_a_phone_nothing_runs_off_the_side(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width=width, height=740)
    assert not browser.value(SQUEEZED)
    assert browser.value(SHOWN) == 20
    sizes = "[...document.querySelectorAll('.cell')].map(c => c.getBoundingClientRect())"
    assert browser.value(f"Math.min(...{sizes}.map(r => r.height))") >= 44
    assert browser.value(f"Math.max(...{sizes}.map(r => r.right))") <= width
    browser.click(cell(5, 0))
    assert browser.value("document.querySelector('#case').scrollWidth") <= width
    assert not browser.value(SQUEEZED)
    browser.click("#close")
    # The focus goes back to the cell, and the page scrolls there.
    browser.until(CLOSED)
    browser.click(".word[data-verdict='unstable']")
    browser.until(f"{SHOWN} === 1")


def test_on_a_phone_what_is_owned_keeps_the_heads_of_its_columns(browser: Browser, page: Path) -> None:
    browser.open(page, width=390, height=740)
    heads = (
        "[...document.querySelectorAll('.owners tbody tr:first-child td')]"
        ".map(td => JSON.parse(getComputedStyle(td, '::before').content))"
    )
    assert browser.value(heads) == ["from step", "held by", "released by", "holds"]


def test_others_are_offered_only_where_there_are_some(browser: Browser, tmp_path: Path) -> None:
    cases = [*sweep(), result(point(3, occurrence=2), problem())]
    browser.open(written(tmp_path, sample(cases)))
    shown = "document.querySelector('#next').checkVisibility()"
    browser.click(cell(5, 0))
    assert not browser.value(shown)
    browser.press("Escape")
    browser.until(CLOSED)
    browser.click(cell(3, 0))
    assert browser.value(shown)
    first = browser.value("location.hash")
    browser.click("#next")
    assert browser.value("location.hash") == f"#case-{cases[-1].id}" != first


def test_a_case_shown_right_after_another_closed_stays_in_the_address(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.click(cell(5, 0))
    # In one turn, and so before the event that tells of the closing.
    browser.value(
        f"""new Promise(heard => {{
            document.querySelector('#case').addEventListener('close', () => heard(0), {{once: true}});
            document.querySelector('#close').click();
            document.querySelector({cell(3, 0)!r}).click();
        }})"""
    )
    assert browser.value("document.querySelector('#case').open")
    assert browser.value("location.hash === '#case-' + document.querySelector('#pick').value")


def test_names_that_are_markup_are_shown_and_never_run(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, hostile()))
    assert browser.value("typeof window.hacked") == "undefined"
    assert browser.text("h1") == f"{HOSTILE} 2.4.0"
    assert HOSTILE in browser.text("tr[data-step='3'] .call")
    browser.click(cell(3, 1))
    assert browser.value("document.querySelectorAll('img').length") == 0
    events = browser.value(EVENTS)
    assert ["released", HOSTILE] in [event[:2] for event in events]
    assert ["the caller got", HOSTILE] in [event[:2] for event in events]
    browser.press("Escape")
    browser.until(CLOSED)
    browser.click("table.seconds .cell")
    assert "second fault" in [event[0] for event in browser.value(EVENTS)]
    browser.press("Escape")
    browser.until(CLOSED)
    browser.click("#search")
    browser.type("<script>")
    assert browser.text("#shown") == "3 cases"
    browser.type("none has this")
    assert browser.text("#shown") == "0 of 3 cases"
    assert browser.value("[...document.querySelector('#fault').options].map(o => o.text)") == [
        "all", "RuntimeError", HOSTILE,
    ]  # fmt: skip
    assert browser.value("typeof window.hacked") == "undefined"


def test_a_second_fault_opens_from_its_release(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, with_second()))
    browser.click("tr[data-release='executor.shutdown'] .cell")
    assert [event[0] for event in browser.value(EVENTS)][:3] == ["acquired", "fault", "second fault"]


def test_two_sweeps_do_not_take_each_others_cases(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, suite(), hostile()))
    browser.click("section[data-sweep='1'] " + cell(3, 1))
    assert HOSTILE in browser.text("#case-title")
