"""What is ignored is ignored at every look: at what is left, and at what a second construction holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sweep._collected import swept

MODULE = """
import os

class Client:
    def __init__(self):
        self._ours = open(os.devnull, "rb")
        self._log = None
        try:
            self._log = open("log.txt", "wb")
            len("abc")
        except BaseException:
            self._ours.close()
            raise

    def close(self):
        self._ours.close()
"""


@pytest.mark.parametrize("runner", ["fork", "zygote"])
def test_what_is_ignored_counts_neither_as_left_nor_as_held_by_a_second_construction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runner: str
) -> None:
    (tmp_path / "client.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    ignore = {"ignore": ("fds:*log.txt", "temporary files:*log.txt")}
    cases = swept(tmp_path, "client:Client", release="close", runner=runner, **ignore)
    assert {result.verdict for result in cases.results.values()} == {"clean"}
    seen = swept(tmp_path, "client:Client", release="close", runner=runner)
    assert "late" in {result.verdict for result in seen.results.values()}
