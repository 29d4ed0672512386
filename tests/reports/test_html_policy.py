"""What the page's own policy is for: should markup ever get past the escaping, it does nothing."""

from __future__ import annotations

from pathlib import Path

from tests.reports._chromium import Browser
from tests.reports._pages import suite, written

SMUGGLED = """<script>window.hacked = 1</script><img src="gone.png" onerror="window.hacked = 2">
<button id="smuggled" onclick="window.hacked = 3">press</button></main>"""


def test_a_script_that_is_not_the_pages_own_does_not_run(browser: Browser, tmp_path: Path) -> None:
    page = written(tmp_path, suite())
    page.write_text(page.read_text("utf-8").replace("</main>", SMUGGLED), "utf-8")
    browser.open(page)
    browser.click("#smuggled")
    assert browser.value("typeof window.hacked") == "undefined"
    assert browser.text("#shown") == "20 cases"
    assert len(browser.complaints()) >= 3
    assert browser.requests() == [page.as_uri()]


def test_without_the_policy_it_would(browser: Browser, tmp_path: Path) -> None:
    page = written(tmp_path, suite())
    text = page.read_text("utf-8").replace("</main>", SMUGGLED)
    page.write_text(text.replace("Content-Security-Policy", "x-nothing"), "utf-8")
    browser.open(page)
    browser.until("window.hacked === 2")
