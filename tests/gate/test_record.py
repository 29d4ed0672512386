from __future__ import annotations

from pathlib import Path

import pytest

from faultinject.gate._record import Record, read_record, write_record


def test_what_ran_is_added_and_what_is_there_no_more_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "record.json"
    write_record(path, Record(), {"a": "1", "b": "1"}, frozenset("abc"))
    write_record(path, read_record(path), {"c": "1", "b": "2"}, frozenset("bc"))
    assert read_record(path) == Record(runs=2, points={"b": "2", "c": "1"})
    assert [p.name for p in path.parent.iterdir()] == ["record.json"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"runs": "x"}', '{"schema": "other/1", "runs": 5}', "[" * 9999]
)
def test_one_that_cannot_be_used_counts_as_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "record.json"
    path.write_text(text)
    assert read_record(path) == Record()


def test_without_a_place_for_it_nothing_is_kept(tmp_path: Path) -> None:
    write_record(None, Record(), {"a": "1"}, frozenset("a"))
    assert read_record(None) == Record()
    (tmp_path / "file").write_text("")
    write_record(tmp_path / "file" / "x.json", Record(), {"a": "1"}, frozenset("a"))
