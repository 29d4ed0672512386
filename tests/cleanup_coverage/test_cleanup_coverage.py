"""Which lines are clean-up code, and which of them ran."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultinject.cleanup_coverage import Tally, ranges, regions_of, write_data

SOURCE = """\
import os

class Guard:
    def __exit__(self, kind, error, trace):
        if kind:
            return False
        return None

def work():
    try:
        os.getpid()
    except (OSError,
            ValueError):
        os.getppid()
        raise
    except KeyError:  # pragma: no cover
        os.getuid()
    else:
        os.getgid()
    finally:
        try:
            os.close(0)
        except OSError:
            pass

        def later():
            return 1

async def wait():
    try:
        pass
    except* ValueError:
        print(
            "two lines",
        )
"""


def test_the_bodies_of_handlers_finally_and_exits_are_found_each_line_once() -> None:
    found = [(r.kind, r.where, r.line, ranges(r.lines)) for r in regions_of(SOURCE)]
    assert found == [
        ("__exit__", "Guard.__exit__", 4, "5-7"),
        ("except", "work", 12, "14-15"),
        ("finally", "work", 20, "21-23, 26-27"),
        ("except", "work", 23, "24"),
        ("except", "wait", 32, "33-34"),
    ]


def test_what_is_no_python_has_no_clean_up_code() -> None:
    assert regions_of("def (") == ()
    assert regions_of("") == ()


def test_lines_that_follow_each_other_are_one_range() -> None:
    assert ranges([9, 3, 4, 5, 12]) == "3-5, 9, 12"
    assert ranges([]) == ""


def test_what_never_ran_under_any_fault_is_told_by_region(tmp_path: Path) -> None:
    path = tmp_path / "work.py"
    path.write_text(SOURCE)
    tally = Tally([str(tmp_path / "gone.py")])
    tally.add("first case", {str(path): [10, 11, 14, 15, 21, 22]})
    tally.add("first case", {str(path): [24]})
    tally.add("second case", {})
    (row,) = tally.coverage()
    assert (len(row.ran), len(row.lines)) == (5, 13)
    assert row.percent == pytest.approx(100 * 5 / 13)
    assert [(r.kind, ranges(lines)) for r, lines in row.never] == [
        ("__exit__", "5-7"), ("finally", "23, 26-27"), ("except", "33-34"),
    ]  # fmt: skip


def test_each_case_is_a_context_of_the_data_that_coverage_reads(tmp_path: Path) -> None:
    coverage = pytest.importorskip("coverage")
    path = tmp_path / "kept" / "coverage"
    tally = Tally()
    tally.add("Client.__init__:12 open before RuntimeError", {"/a/work.py": [14, 15]})
    for _ in range(2):  # an older file is replaced
        assert write_data(tally, path)
    data = coverage.CoverageData(basename=str(path))
    data.read()
    assert data.measured_contexts() == {"Client.__init__:12 open before RuntimeError"}
    assert sorted(data.lines("/a/work.py") or ()) == [14, 15]
