from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultinject.errors import UsageError
from faultinject.gate import Baseline, OwnedRow, baseline_path, format_baseline, read_baseline, write_baseline
from tests.gate._project import TOMORROW, baseline, suppression
from tests.reports._sample import POINTS

WHOLE = baseline(
    suppression("645c16f2 before pipe, RuntimeError", "645c16f3"),
    owned=(
        OwnedRow("executor", "acme:Executor.__init__", "shutdown", "self.executor", 1),
        OwnedRow("fds", "m:f"),
    ),
    version="2.4.0",
)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "matrices" / "acme.toml"
    write_baseline(path, WHOLE)
    assert read_baseline(path) == WHOLE


def test_each_point_and_case_has_a_line_of_its_own() -> None:
    lines = format_baseline(WHOLE).splitlines()
    assert sum(line.strip().startswith('"steps ') for line in lines) == len(POINTS)
    assert f"expires = {TOMORROW}" in lines


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@settings(deadline=None, max_examples=40)
@given(reason=names, owner=names, name=st.text(st.characters(exclude_categories=["Cs"])))
def test_no_text_can_break_the_file(
    tmp_path_factory: pytest.TempPathFactory, reason: str, owner: str, name: str
) -> None:
    made = baseline(suppression("645c16f2", reason=reason, owner=owner), target=name)
    path = tmp_path_factory.getbasetemp() / f"texts-{id(made)}.toml"
    write_baseline(path, made)
    assert read_baseline(path) == made
    path.unlink()


def test_each_target_and_level_has_a_file_of_its_own(tmp_path: Path) -> None:
    assert baseline_path(tmp_path, "acme.pool:Pool", "sites").name == "acme.pool-Pool.sites.baseline.toml"


HEAD = 'format = 1\ntarget = "t"\nlevel = "steps"\n'
POINT = "steps before m:f -> m:g #1"
ROW = (
    '[[suppression]]\nverdict = "leak"\ncharged_to = "m:f"\ncases = ["645c16f2"]\nreason = "r"\nowner = "o"\n'
    "expires = 2030-01-01\n"
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("format = ", "is no TOML"),
        ("a = " + "[" * 5000, "is nested more deeply"),
        ('target = "t"\nlevel = "steps"', "has no format"),
        (HEAD.replace("1", "2"), "has format 2"),
        (HEAD.replace("1", "true"), "has format True"),
        (HEAD.replace("steps", "stips"), "level: invalid enum value 'stips'"),
        (HEAD + "extra = 1", "unknown field `extra`"),
        (HEAD + f'points = ["{POINT}", "{POINT}"]', "stands there 2 times"),
        (HEAD + 'points = ["nonsense"]', "'nonsense' is no fault point"),
        (HEAD + f'points = ["{POINT.replace("steps", "sites")}"]', "is not of level steps"),
        (HEAD + ROW.replace('"r"', '"  "'), "suppression row 1: reason: it is empty"),
        (HEAD + ROW.replace('"o"', '""'), "suppression row 1: owner: it is empty"),
        (HEAD + ROW.replace('reason = "r"\n', ""), "missing required field `reason`"),
        (HEAD + ROW.replace("expires = 2030-01-01\n", ""), "missing required field `expires`"),
        (HEAD + ROW.replace("2030-01-01", "2030-01-01T00:00:00"), "expires"),
        (HEAD + ROW.replace("2030-01-01", '"soon"'), "expires"),
        (HEAD + ROW.replace('"leak"', '"clean"'), "clean is no violation"),
        (HEAD + ROW.replace('"leak"', '"leek"'), "verdict"),
        (HEAD + ROW.replace('["645c16f2"]', "[]"), "cases: there is none"),
        (HEAD + ROW.replace('["645c16f2"]', '["nonsense"]'), "'nonsense' does not begin with the id"),
        (HEAD + ROW.replace('["645c16f2"]', '["645c16f2", "645c16f2 x"]'), "stands there twice"),
        (HEAD + ROW + ROW, "rows 1 and 2 both list 645c16f2"),
    ],
)
def test_a_file_with_a_mistake_is_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_baseline(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_stands_there_may_be_one_of_several_roots(tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    path.write_text(HEAD + ROW + ROW.replace('"leak"', '"late"'))
    assert len(read_baseline(path).suppression) == 2
    assert read_baseline(path).suppression[0].expires == datetime.date(2030, 1, 1)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the baseline"):
        read_baseline(tmp_path / "none.toml")


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot make the folder"):
        write_baseline(tmp_path / "file" / "x.toml", Baseline(1, "t", "steps"))
