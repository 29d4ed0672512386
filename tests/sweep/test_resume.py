"""Going on from what an earlier sweep has."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.sweep._collected import swept

TARGET = """
import os

class Leaks:
    def __init__(self):
        self.fd = os.open(os.devnull, os.O_RDONLY)
        os.getppid()
        os.getsid(0)
    def close(self):
        os.close(self.fd)
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "resumed.py").write_text(TARGET)
    return tmp_path


@pytest.mark.parametrize("runner", ["fork", "zygote"])
def test_only_the_remaining_cases_are_run(directory: Path, runner: str) -> None:
    whole = swept(directory, "resumed:Leaks", release="close", runner=runner)
    done = tuple(whole.results.values())[:3]
    rest = swept(directory, "resumed:Leaks", release="close", runner=runner, skip=done)
    assert set(rest.results) == set(whole.results) - {result.id for result in done}
    assert rest.verdicts == {i: v for i, v in whole.verdicts.items() if i in rest.results}
    assert rest.summary is not None
    assert whole.summary is not None
    assert rest.summary.verdicts == whole.summary.verdicts


def test_a_finished_sweep_has_nothing_left_to_run(directory: Path) -> None:
    whole = swept(directory, "resumed:Leaks", release="close")
    again = swept(directory, "resumed:Leaks", release="close", skip=tuple(whole.results.values()))
    assert again.told == []


def test_what_was_only_screened_is_confirmed(directory: Path) -> None:
    screened = swept(directory, "resumed:Leaks", release="close", runner="fork", confirm="none")
    assert not any(result.confirmed for result in screened.told)
    rest = swept(
        directory, "resumed:Leaks", release="close", runner="fork", skip=tuple(screened.results.values())
    )
    assert all(result.confirmed for result in rest.told)
    assert {i for i, (verdict, _) in screened.verdicts.items() if verdict == "leak"} <= set(rest.results)


def test_what_was_not_repeated_often_enough_is_repeated(directory: Path) -> None:
    once = swept(directory, "resumed:Leaks", release="close", runner="zygote")
    cut = tuple(msgspec.structs.replace(r, runs=(r.verdict,)) for r in once.results.values())
    rest = swept(directory, "resumed:Leaks", release="close", runner="zygote", repeats=3, skip=cut)
    assert {result.verdict for result in rest.told} == {"leak"}
    assert all(result.runs == ("leak",) * 3 for result in rest.results.values())
