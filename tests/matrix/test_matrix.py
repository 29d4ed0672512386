from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec
import pytest

from faultinject.errors import UsageError
from faultinject.facts import CaseResult, Owned, Recording
from faultinject.matrix import (
    compare_ownership,
    declared_owned,
    format_matrix,
    matrix_path,
    merge,
    must_release_at,
    owned_at,
    read_matrix,
    release_order,
    update_matrix,
    write_matrix,
)
from tests.reports._sample import CALLEES, NESTED, OWNED, POINTS, RECORDING, point, problem, result, sweep

TEXT = """\
# The lifecycle matrix of acme:Engine.
# [[owned]]: what it owns, and from which of its calls on. A row with `declared = true` is kept by the next
# generation and overrides what the recording infers; `declared = true` up here does so for the whole table.
# [[step]]: each call it makes, what it owns when a fault comes there (before the call, or at the call's end),
# what must be released, first thing first, and the verdicts of the last sweep.
# Formats: 1 the first.
format = 1
target = "acme:Engine"
version = "2.4.0"
python = "3.12"
level = "steps"
generated_by = "faultinject matrix acme:Engine"

[[owned]]
name = "executor"
step = 2
callee = "acme.executor:Executor.__init__"
release = "shutdown"
holder = "self.executor"
order = 1
amounts = ["+2 processes", "+480 MiB shared memory", "+52 fds"]

[[owned]]
name = "scheduler"
step = 4
callee = "acme.scheduler:Scheduler.__init__"
release = "close"
holder = "self.scheduler"
order = 2
amounts = []
"""
STEP_5 = """\
[[step]]
number = 5
callee = "acme.gc:freeze_heap"
line = 31
owned = ["executor", "scheduler"]
must_release = ["executor", "scheduler"]
"""


def changed(recording: Recording, **changes: object) -> Recording:
    return msgspec.structs.replace(recording, **changes)


def owned(name: str, step: int, order: int = 0) -> Owned:
    return Owned(name=name, step=step, callee=f"m:{name}", order=order)


def test_a_matrix_reads_like_a_table() -> None:
    text = format_matrix(RECORDING, version="2.4.0", python="3.12")
    assert text.startswith(TEXT)
    assert text.endswith(f"\n{STEP_5}")


def test_once_swept_it_holds_the_verdicts() -> None:
    cases = sweep()
    cases[0] = result(POINTS[0], NESTED)
    steps = tomllib.loads(format_matrix(RECORDING, cases))["step"]
    assert steps[0]["verdicts"] == {
        "before RuntimeError": "nested leak",
        "before KeyboardInterrupt": "clean",
        "after RuntimeError": "clean",
        "after KeyboardInterrupt": "clean",
    }
    assert list(steps[4]["verdicts"]) == list(steps[0]["verdicts"])
    assert set(steps[4]["verdicts"].values()) == {"leak"}


def pairs() -> list[CaseResult]:
    """Second faults at two steps: at the later one a release that hangs, and one that is not called."""
    close, hang = "executor.shutdown/before/RuntimeError", "executor.shutdown/before/hang"
    other = "scheduler.close/after/KeyboardInterrupt"
    return [
        result(POINTS[4], second=close, second_reached=True),
        result(POINTS[5], NESTED, second=close, second_reached=True),
        result(POINTS[8], problem("hang"), second=hang, second_reached=True),
        result(POINTS[8], second=close, second_reached=True),
        result(POINTS[9], second=close, second_reached=True),
        result(POINTS[8], problem(), second=other),
    ]


def test_second_faults_have_a_table_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    write_matrix(path, RECORDING, [*sweep(), *pairs()])
    raw = tomllib.loads(path.read_text())
    assert raw["step"] == tomllib.loads(format_matrix(RECORDING, sweep()))["step"]
    assert raw["second"] == [
        {
            "step": 3,
            "release": "executor.shutdown",
            "verdicts": {"before RuntimeError": {"clean": 1, "nested leak": 1}},
        },
        {
            "step": 5,
            "release": "executor.shutdown",
            "verdicts": {"before RuntimeError": "clean", "hang": "hang"},
        },
        {"step": 5, "release": "scheduler.close", "not_called": 1},
    ]
    assert list(raw["second"][1]["verdicts"]) == ["before RuntimeError", "hang"]
    assert [(row.step, row.release, row.not_called) for row in read_matrix(path).second] == [
        (3, "executor.shutdown", 0),
        (5, "executor.shutdown", 0),
        (5, "scheduler.close", 1),
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('= "clean"', '= "clear"'), "unknown verdict 'clear'"),
        (("step = 3\nrelease", "step = 5\nrelease"), "2 rows have step 5 and release 'executor.shutdown'"),
        (("not_called = 1", "missed = 1"), "missed"),
    ],
)
def test_a_wrong_row_of_second_faults_is_refused(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    path = tmp_path / "m.toml"
    text = format_matrix(RECORDING, pairs())
    assert change[0] in text
    head, mark, rest = text.partition("# [[second]]")
    path.write_text(head + mark + rest.replace(*change))
    with pytest.raises(UsageError, match=said):
        read_matrix(path)


def test_at_finer_levels_it_holds_counts() -> None:
    deep = [point(3, level="sites", callee=f"m:f{n}") for n in range(3)]
    cases = [result(deep[0]), result(deep[1]), result(deep[2], NESTED)]
    steps = tomllib.loads(format_matrix(changed(RECORDING, level="sites"), cases))["step"]
    assert steps[2]["verdicts"] == {"before RuntimeError": {"clean": 2, "nested leak": 1}}


def test_verdicts_outside_any_call_have_a_row_of_their_own(tmp_path: Path) -> None:
    outside = msgspec.structs.replace(point(1), step=0, level="opcodes")
    write_matrix(tmp_path / "m.toml", changed(RECORDING, level="opcodes"), [result(outside)])
    first = read_matrix(tmp_path / "m.toml").step[0]
    assert (first.number, first.verdicts) == (0, {"before RuntimeError": {"clean": 1}})


def test_the_same_sweep_in_another_order_is_the_same_file() -> None:
    other = changed(RECORDING, owned=OWNED[::-1], steps=RECORDING.steps[::-1], seconds=9.9)
    assert format_matrix(other, sweep()[::-1]) == format_matrix(RECORDING, sweep())


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "matrices" / "m.toml"
    write_matrix(path, RECORDING, sweep(), version="2.4.0", python="3.12")
    matrix = read_matrix(path)
    assert (matrix.target, matrix.version, matrix.python) == ("acme:Engine", "2.4.0", "3.12")
    assert [row.name for row in matrix.owned] == ["executor", "scheduler"]
    assert matrix.step[4].must_release == ("executor", "scheduler")
    assert [file.name for file in path.parent.iterdir()] == ["m.toml"]


def test_odd_names_survive_the_file(tmp_path: Path) -> None:
    odd = 'a "b"\\c\n\t\x00\x7f é[red]'
    row = msgspec.structs.replace(OWNED[0], name=odd, holder=odd)
    write_matrix(tmp_path / "m.toml", changed(RECORDING, owned=(row,), target=odd))
    matrix = read_matrix(tmp_path / "m.toml")
    assert (matrix.target, matrix.owned[0].name, matrix.owned[0].holder) == (odd, odd, odd)


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("vllm:EngineCore", "vllm-EngineCore.toml"),
        ("a.b:C.d", "a.b-C.d.toml"),
        ("../../etc/x", "etc-x.toml"),
        ("[red]", "red.toml"),
        ("///", "target.toml"),
    ],
)
def test_a_matrix_lies_under_the_name_of_its_target(tmp_path: Path, target: str, name: str) -> None:
    assert matrix_path(tmp_path, target) == tmp_path / name


GOOD = f'{TEXT}\n{STEP_5}verdicts = {{ "before RuntimeError" = "leak" }}\n'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        'format = 1\ntarget = "t"\n',
        GOOD.replace('"leak" }', "{ clean = 80, leak = 12 } }"),
        GOOD.replace('"leak" }', '"nested leak" }'),
        GOOD.replace("order = 2", "order = 2\ndeclared = true"),
        GOOD.replace("format = 1", "format = 1\ndeclared = true"),
        GOOD.replace('must_release = ["executor", "scheduler"]', "must_release = []"),
    ],
)
def test_good_rows_are_taken(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m.toml"
    path.write_text(text, encoding="utf-8")
    assert read_matrix(path).format == 1


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("format = 1\n", "", "format: has no format, this faultinject reads 1: generate it again"),
        ("format = 1\n", "format = 2\n", "format: has format 2, this faultinject reads 1"),
        ("format = 1\n", 'format = "1"\n', "format: has format '1', this faultinject reads 1"),
        ("format = 1\n", "format = true\n", "format: has format True, this faultinject reads 1"),
        ('target = "acme:Engine"\n', "", "object missing required field `target`"),
        ('level = "steps"', 'level = "step"', "level: invalid enum value 'step'"),
        ("format = 1\n", "format = 1\ncolour = 1\n", "object contains unknown field `colour`"),
        ("order = 2", "odrer = 2", "owned row 2 (scheduler): object contains unknown field `odrer`"),
        ("order = 2", 'order = "2"', "owned row 2 (scheduler): order: expected `int`, got `str`"),
        ("order = 2", "order = -2", "owned row 2 (scheduler): order: expected `int` >= 0"),
        ('name = "scheduler"\n', "", "owned row 2: object missing required field `name`"),
        ("amounts = []", "amounts = [1]", "owned row 2 (scheduler): amounts: expected `str`, got `int`"),
        (
            'name = "scheduler"\nstep = 4',
            'name = "executor"\nstep = 2',
            "owned: 2 rows are named 'executor' and of step 2: keep one",
        ),
        ("line = 31", "lines = 31", "step row 1 (5): object contains unknown field `lines`"),
        (STEP_5, f"{STEP_5}[[step]]\nnumber = 5\ncallee = ''\n", "step: 2 rows have number 5: keep one"),
        ('owned = ["executor"', 'owned = ["exekutor"', "step 5: owned: 'exekutor' is in no [[owned]] row"),
        ('release = ["executor"', 'release = ["gc"', "step 5: must_release: 'gc' is in no [[owned]] row"),
        ('owned = ["executor"', 'owned = ["scheduler"', "step 5: owned: 'scheduler' is there more often"),
        (
            '= "leak" }',
            '= "leek" }',
            "step 5: verdicts: before RuntimeError: unknown verdict 'leek': one of cle",
        ),
        ('= "leak" }', "= { leek = 3 } }", "step 5: verdicts: before RuntimeError: unknown verdict 'leek'"),
        ('= "leak" }', "= { leak = -1 } }", "step row 1 (5): verdicts: expected `int` >= 0"),
        ('= "leak" }', "= 3 }", "step row 1 (5): verdicts: expected"),
        ("format = 1\n", "format = \n", "is no TOML: Invalid value (at line 7, column 10)"),
        ("format = 1\n", "format = 1\nformat = 1\n", "is no TOML: Cannot overwrite a value (at line 8"),
    ],
)
def test_bad_rows_are_refused_with_file_and_key(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    assert before in GOOD
    text = GOOD.replace(before, after, 1)
    path = tmp_path / "m.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_matrix(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_or_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read the matrix .*none\.toml: No such file"):
        read_matrix(tmp_path / "none.toml")
    (tmp_path / "m.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="is no TOML"):
        read_matrix(tmp_path / "m.toml")
    with pytest.raises(UsageError, match="cannot write the matrix"):
        write_matrix(tmp_path / "m.toml" / "inside.toml", RECORDING)


@pytest.mark.parametrize(
    ("table", "names"),
    [
        ((owned("a", 1), owned("b", 2), owned("c", 3)), ["c", "b", "a"]),
        ((owned("a", 1, 2), owned("b", 2, 1), owned("c", 3, 3)), ["b", "a", "c"]),
        ((owned("a", 1, 1), owned("b", 2), owned("c", 3, 2)), ["a", "b", "c"]),
        ((), []),
    ],
)
def test_release_is_newest_first_unless_the_normal_shutdown_has_an_order(
    table: tuple[Owned, ...], names: list[str]
) -> None:
    assert [o.name for o in release_order(table)] == names


def test_what_a_call_makes_is_owned_from_the_next_call_on() -> None:
    assert [o.name for o in owned_at(OWNED, 2)] == []
    assert [o.name for o in owned_at(OWNED, 3)] == ["executor"]
    assert [o.name for o in must_release_at(OWNED, 5)] == ["executor", "scheduler"]


def declare(tmp_path: Path, before: str, after: str) -> Path:
    path = tmp_path / "m.toml"
    text = format_matrix(RECORDING, version="2.4.0", python="3.12")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
    return path


def test_a_generated_table_declares_nothing(tmp_path: Path) -> None:
    write_matrix(tmp_path / "m.toml", RECORDING)
    matrix = read_matrix(tmp_path / "m.toml")
    assert declared_owned(matrix) == ()
    assert merge(RECORDING, matrix) == RECORDING


def test_a_declared_row_overrides_what_was_found_and_outlives_the_next_generation(tmp_path: Path) -> None:
    path = declare(tmp_path, 'release = "close"', 'release = "shutdown"\ndeclared = true')
    merged = merge(RECORDING, read_matrix(path))
    assert [(o.name, o.release, o.source) for o in merged.owned] == [
        ("executor", "shutdown", "found"),
        ("scheduler", "shutdown", "declared"),
    ]
    for _ in range(2):
        assert update_matrix(path, RECORDING) == ["scheduler: release declared as shutdown, found close"]
    assert 'release = "shutdown"\nholder = "self.scheduler"\norder = 2\namounts = []\ndeclared = true' in (
        path.read_text()
    )


def test_a_declared_table_overrides_inference_as_a_whole(tmp_path: Path) -> None:
    path = declare(tmp_path, "format = 1\n", "format = 1\ndeclared = true\n")
    extra = Owned(name="gc freeze", step=5, callee=CALLEES[4], release="gc.unfreeze")
    found = changed(RECORDING, owned=(*OWNED, extra))
    assert [o.name for o in merge(found, read_matrix(path)).owned] == ["executor", "scheduler"]
    for _ in range(2):
        assert update_matrix(path, found) == [
            f"gc freeze: found from step 5 ({CALLEES[4]}) on, but not declared"
        ]
    assert read_matrix(path).declared


def test_a_declared_row_follows_its_call_to_another_step(tmp_path: Path) -> None:
    path = declare(tmp_path, "order = 2", "order = 2\ndeclared = true")
    steps = tuple(msgspec.structs.replace(s, number=s.number + 3, line=s.line + 40) for s in RECORDING.steps)
    merged = merge(changed(RECORDING, steps=steps, owned=()), read_matrix(path))
    assert [(o.name, o.step, o.line) for o in merged.owned] == [("scheduler", 7, 63)]


def test_a_declared_row_of_a_call_that_is_not_made_is_refused(tmp_path: Path) -> None:
    path = declare(tmp_path, "order = 2", "order = 2\ndeclared = true")
    with pytest.raises(
        UsageError, match=r"declares 'scheduler' from 'acme.scheduler:Scheduler.__init__', a call"
    ):
        merge(changed(RECORDING, steps=RECORDING.steps[:2]), read_matrix(path))


def test_a_matrix_of_another_target_is_refused(tmp_path: Path) -> None:
    write_matrix(tmp_path / "m.toml", RECORDING)
    with pytest.raises(UsageError, match="is of target 'acme:Engine', not of 'acme:Other'"):
        merge(changed(RECORDING, target="acme:Other"), read_matrix(tmp_path / "m.toml"))


def test_things_of_one_name_from_different_calls_are_different_things(tmp_path: Path) -> None:
    fds = tuple(Owned(name="fds", step=step, callee=CALLEES[step - 1]) for step in (1, 3))
    found = changed(RECORDING, owned=fds)
    path = tmp_path / "m.toml"
    write_matrix(path, found)
    assert read_matrix(path).step[4].owned == ("fds", "fds")
    path.write_text(path.read_text().replace('release = ""', 'release = "close"\ndeclared = true', 1))
    assert [(o.step, o.release) for o in merge(found, read_matrix(path)).owned] == [(1, "close"), (3, "")]


def test_differences_are_told_in_plain_words() -> None:
    executor, scheduler = OWNED
    declared = (
        msgspec.structs.replace(executor, step=3, callee=CALLEES[2], holder="self.exec", order=2),
        owned("gc freeze", 5),
    )
    assert compare_ownership(OWNED, OWNED, whole=True) == []
    assert compare_ownership((executor, scheduler), declared, whole=True) == [
        f"executor: declared from step 3 ({CALLEES[2]}) on, found from step 2 ({CALLEES[1]}) on",
        "executor: holder declared as self.exec, found self.executor",
        "executor: order declared as 2, found 1",
        "gc freeze: declared from step 5 (m:gc freeze) on, but not found",
        f"scheduler: found from step 4 ({CALLEES[3]}) on, but not declared",
    ]


def test_the_example_in_the_documentation_is_a_valid_matrix(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "reading-a-matrix.md").read_text(encoding="utf-8")
    (tmp_path / "m.toml").write_text(text.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    matrix = read_matrix(tmp_path / "m.toml")
    assert (matrix.owned[0].name, matrix.step[0].owned) == ("executor", ("executor",))
