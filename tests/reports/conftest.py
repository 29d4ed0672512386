from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reports._chromium import Browser, Installed, NoChromium, find_chromium


@pytest.fixture(scope="session")
def chromium(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """A real Chromium, brought once for all runs in this checkout."""
    cache = getattr(request.config, "cache", None)
    kept = Path(cache.mkdir("chromium")) if cache is not None else tmp_path_factory.mktemp("chromium")
    try:
        return find_chromium(kept)
    except NoChromium as why:
        if "CI" in os.environ:
            pytest.fail(str(why), pytrace=False)
        pytest.skip(str(why))


@pytest.fixture
def browser(chromium: Installed, tmp_path: Path) -> Iterator[Browser]:
    with Browser(chromium, tmp_path / "profile") as one:
        yield one
