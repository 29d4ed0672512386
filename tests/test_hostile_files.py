"""Files that come from elsewhere: whatever is in them, they are read as data, or refused in one clear line.

``tests/hostile`` holds small ones; large ones are made here; and hypothesis makes its own from sound ones.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultinject._reading import REPORT_LIMIT, TABLE_LIMIT, check_inside, read_bytes
from faultinject.errors import UsageError
from faultinject.gate import OwnedRow, format_baseline, read_baseline
from faultinject.matrix import format_matrix, matrix_path, read_matrix
from faultinject.reports import FORMATS, make_console, parse_report, print_suite, read_suites, write_suites
from faultinject.reports._json import encode
from tests.gate._project import baseline, suppression
from tests.reports._pages import HOSTILE, hostile, suite, with_second
from tests.reports._sample import RECORDING, sweep

HOSTILE_FILES = Path(__file__).parent / "hostile"
REPORTS = sorted((HOSTILE_FILES / "reports").iterdir())
TABLES = {read_matrix: "matrices", read_baseline: "baselines"}
MALFORMED_TABLES = [
    pytest.param(read, path, id=f"{folder}-{path.stem}")
    for read, folder in TABLES.items()
    for path in sorted((HOSTILE_FILES / folder).iterdir())
]
EXAMPLES = settings(max_examples=60, deadline=None, database=None)
RENDERED = [name for name in FORMATS if name != "json"]


def refusal(read: Callable[[Path], object], path: Path) -> str:
    """The one line with which a file is refused."""
    with pytest.raises(UsageError) as caught:
        read(path)
    return clear(str(caught.value), path)


def clear(line: str, path: Path) -> str:
    assert line.isprintable(), line
    assert len(line) - len(str(path)) < 500, line
    assert path.name in line, line
    assert not re.search(r"Traceback|object at 0x|msgspec|<class", line), line
    return line


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_a_malformed_report_is_refused_in_one_clear_line(path: Path) -> None:
    refusal(read_suites, path)


@pytest.mark.parametrize(("read", "path"), MALFORMED_TABLES)
def test_a_malformed_matrix_or_baseline_is_refused_in_one_clear_line(
    read: Callable[[Path], object], path: Path
) -> None:
    refusal(read, path)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("key-twice", "has the key 'level' twice"),
        ("key-twice-deep-inside", "has the key 'verdict' twice"),
        ("not-a-number", "no whole JSON document: JSON is malformed"),
        ("infinite", r"out of range - at `\$.cases\[0\].seconds`"),
        ("truncated", "is no whole JSON document: input data was truncated"),
        ("no-utf-8", r"is no whole JSON document: it is no UTF-8 \(byte \d+\)"),
        ("id-as-command", "is no id of a case"),
        ("verdict-count-as-markup", r"invalid enum value .* at `key` in `\$.summary.verdicts`"),
        ("schema-in-red", r"of schema '\\x1b\[31mred"),
        ("wrong-type", r"expected `array`, got `str` - at `\$.cases\[0\].owned`"),
    ],
)
def test_the_line_says_what_is_wrong_and_where(name: str, what: str) -> None:
    line = refusal(read_suites, HOSTILE_FILES / "reports" / f"{name}.json")
    assert re.search(what, line, re.I), line


@pytest.mark.parametrize("depth", [500, 2_000, 200_000])
@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"])
def test_what_is_nested_without_end_is_refused(tmp_path: Path, depth: int, opened: str, closed: str) -> None:
    path = tmp_path / "deep.json"
    inner = opened * depth + "1" + closed * depth
    path.write_text('{"schema": "faultinject-report/1", "target": ' + inner + "}")
    refusal(read_suites, path)
    table = tmp_path / "deep.toml"
    table.write_text("format = 1\ntarget = " + inner.replace('{"a":', "{a=") + "\n")
    for read in TABLES:
        refusal(read, table)


def test_a_field_that_nobody_knows_may_hold_anything_but_without_end(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    sound = document()
    path.write_bytes(sound[:-1] + b', "news": ' + b"[" * 50 + b"]" * 50 + b"}")
    assert read_suites(path)
    path.write_bytes(sound[:-1] + b', "news": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    assert "nested" in refusal(read_suites, path)


@pytest.mark.parametrize(
    ("read", "limit"),
    [(read_suites, REPORT_LIMIT), (read_matrix, TABLE_LIMIT), (read_baseline, TABLE_LIMIT)],
    ids=["report", "matrix", "baseline"],
)
def test_a_file_beyond_the_limit_is_not_read(
    tmp_path: Path, read: Callable[[Path], object], limit: int
) -> None:
    path = tmp_path / "large"
    with open(path, "wb") as file:
        file.truncate(limit + 1)
    before = read_so_far()
    assert f"larger than {limit >> 20} MiB" in refusal(read, path)
    assert read_so_far() - before < 1 << 20


def read_so_far() -> int:
    return int(re.search(r"rchar: (\d+)", Path("/proc/self/io").read_text())[1])  # type: ignore[index]


def test_a_hundred_megabytes_of_nothing_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "nothing.json"
    with open(path, "wb") as file:
        file.truncate(100 << 20)
    assert "is no whole JSON document" in refusal(read_suites, path)
    assert "larger than 16 MiB" in refusal(read_matrix, path)


@pytest.mark.parametrize(
    "read", [read_suites, read_matrix, read_baseline], ids=["report", "matrix", "baseline"]
)
def test_what_is_no_plain_file_is_refused_and_not_waited_for(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "gone").symlink_to("nowhere")
    (tmp_path / "zero").symlink_to("/dev/zero")
    assert "it is no plain file" in refusal(read, tmp_path / "pipe")
    assert "it is no plain file" in refusal(read, tmp_path / "zero")
    assert "it is a directory" in refusal(read, tmp_path)
    assert "Too many levels of symbolic links" in refusal(read, tmp_path / "loop")
    assert "No such file" in refusal(read, tmp_path / "gone")
    with pytest.raises(UsageError, match="embedded null"):
        read(Path("a\0b"))


def test_a_file_that_grows_while_it_is_read_is_refused_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "grows"
    path.write_bytes(b"x" * 100)
    real = os.fstat

    class Small:
        def __init__(self, fd: int) -> None:
            self.st_mode, self.st_size = real(fd).st_mode, 1

    monkeypatch.setattr(os, "fstat", Small)
    with pytest.raises(UsageError, match="larger than"):
        read_bytes(path, "report", 50)


def test_a_name_with_a_line_break_is_still_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_suites(tmp_path / "a\nb\x1b[31m.json")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("target", ["../../../etc/passwd", "/etc/passwd", "..", "a/../../b", "~root", "a\0b"])
def test_the_name_of_a_target_leads_to_no_other_folder(tmp_path: Path, target: str) -> None:
    folder = tmp_path / "matrices"
    assert matrix_path(folder, target).parent == folder
    assert matrix_path(folder, target).name not in (".", "..", ".toml")


def test_a_link_that_leads_out_of_its_folder_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "matrices"
    (folder / "within").mkdir(parents=True)
    (tmp_path / "secret.toml").write_text("format = 1")
    (folder / "a.toml").symlink_to("../secret.toml")
    (folder / "b.toml").symlink_to("within/real.toml")
    (folder / "loop.toml").symlink_to("loop.toml")
    with pytest.raises(
        UsageError, match=r"the matrix .*a\.toml leads out of .*matrices: put the file itself"
    ):
        check_inside(folder / "a.toml", folder, "matrix")
    with pytest.raises(UsageError, match="leads out"):
        check_inside(folder / ".." / "secret.toml", folder, "matrix")
    for name in ("b.toml", "new.toml"):
        assert check_inside(folder / name, folder, "matrix") == folder / name
    # The folder itself may be a link: its owner put it there.
    (tmp_path / "link").symlink_to("matrices")
    assert check_inside(tmp_path / "link" / "b.toml", tmp_path / "link", "matrix")


# Whatever hypothesis makes of a sound file is refused clearly, or can be shown in every format -------------


def document() -> bytes:
    """A sound report, with something in every field."""
    one = with_second()
    return json_of(one.recording, one.environment, one.results, one.summary)


def json_of(recording: Any, environment: Any, results: Any, summary: Any) -> bytes:
    return encode(
        {
            "schema": "faultinject-report/1", "target": recording.target, "level": recording.level,
            "environment": environment, "points": recording.points, "recording": recording, "cases": results,
            "summary": summary,
        }
    )  # fmt: skip


SOUND = document()
SOUND_MATRIX = format_matrix(RECORDING, sweep(), version="1", python="3.11")
BASELINE = baseline(
    suppression("645c16f2 before pipe, RuntimeError", "645c16f3"),
    owned=(
        OwnedRow("executor", "acme:Executor.__init__", "shutdown", "self.executor", 1),
        OwnedRow("fds", "m:f"),
    ),
    version="2.4.0",
)
SOUND_BASELINE = format_baseline(BASELINE)
NUMBERS = st.sampled_from([0, -1, 1 << 31, 1 << 63, 10**19, 10**400, 1e308, -1e308, 5e-324, True])
TEXTS = st.sampled_from(
    [
        "",
        "leak",
        "before",
        HOSTILE,
        "../../etc/passwd",
        "\x00",
        "\x1b[2J",
        "\u202e",
        "a" * 5000,
        "/" * 300,
        "'; rm",
    ]
)
VALUES = st.recursive(
    st.none() | NUMBERS | TEXTS | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(TEXTS | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=8,
)


@st.composite
def changed_documents(draw: st.DrawFn) -> bytes:
    """A sound report with one to three values replaced, taken out or doubled."""
    whole = json.loads(SOUND)
    for _ in range(draw(st.integers(1, 3))):
        at = whole
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(at[key], dict | list) and draw(st.integers(0, 3)):
                at = at[key]
                continue
            how = draw(st.sampled_from(["replace", "replace", "remove", "double"]))
            if how == "replace":
                at[key] = draw(VALUES)
            elif how == "remove":
                del at[key]
            elif isinstance(at, list):
                at.insert(key, at[key])
            break
    return json.dumps(whole).encode("utf-8", "surrogatepass")


@st.composite
def broken_bytes(draw: st.DrawFn, sound: bytes) -> bytes:
    """A sound file that was cut short, or has some bytes changed, put in or taken out."""
    data = bytearray(sound)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        how = draw(st.sampled_from(["cut", "put", "take", "change"]))
        if how == "cut":
            del data[at:]
        elif how == "take":
            del data[at : at + draw(st.integers(1, 50))]
        elif how == "put":
            data[at:at] = draw(
                st.binary(max_size=6) | st.sampled_from([b"[" * 3000, b"NaN", b"9" * 5000, b'"'])
            )
        else:
            data[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
    return bytes(data)


@st.composite
def changed_tables(draw: st.DrawFn, sound: str) -> bytes:
    """A sound matrix or baseline with some lines taken out, doubled, or given another value."""
    lines = sound.splitlines()
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        how = draw(st.sampled_from(["remove", "double", "value"]))
        if how == "remove":
            del lines[at]
        elif how == "double":
            lines.insert(at, lines[at])
        else:
            value = draw(
                st.sampled_from(
                    [
                        "nan",
                        "-1",
                        "inf",
                        "9" * 5000,
                        "1979-05-27",
                        "[[1]]",
                        '""',
                        '{ a = "leak" }',
                        "'../..'",
                        "true",
                    ]
                )
                | st.text(max_size=8)
            )
            lines[at] = f"{lines[at].partition('=')[0]}= {value}"
    return "\n".join(lines).encode("utf-8", "surrogatepass")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("made") / "made"


def show_in_every_format(path: Path, *, of: Callable[[Path], list[Any]] = read_suites) -> bool:
    """Whether it could be read; then it must be possible to show it."""
    try:
        suites = of(path)
    except UsageError as error:
        clear(str(error), path)
        return False
    for name in RENDERED:
        write_suites(parse_report(f"{name}:{path}.{name}"), suites)
    console = make_console(io.StringIO(), width=100)
    for one in suites:
        print_suite(console, one, verbose=True, all_nested=True)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(c.isprintable() or c == "\n" for c in shown)
    return True


def test_the_sound_ones_are_read(file: Path) -> None:
    file.write_bytes(SOUND)
    assert show_in_every_format(file)
    file.write_text(SOUND_MATRIX)
    assert read_matrix(file).target == RECORDING.target
    file.write_text(SOUND_BASELINE)
    assert read_baseline(file) == BASELINE


@EXAMPLES
@given(data=changed_documents())
def test_a_report_with_other_values_is_refused_or_shown(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    show_in_every_format(file)


@EXAMPLES
@given(data=broken_bytes(SOUND))
def test_a_report_with_broken_bytes_is_refused_or_shown(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    show_in_every_format(file)


def read_or_refuse(read: Callable[[Path], object], path: Path) -> None:
    try:
        read(path)
    except UsageError as error:
        clear(str(error), path)


@EXAMPLES
@given(data=changed_tables(SOUND_MATRIX) | broken_bytes(SOUND_MATRIX.encode()))
def test_a_matrix_with_broken_lines_is_refused_or_read(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    read_or_refuse(read_matrix, file)


@EXAMPLES
@given(data=changed_tables(SOUND_BASELINE) | broken_bytes(SOUND_BASELINE.encode()))
def test_a_baseline_with_broken_lines_is_refused_or_read(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    read_or_refuse(read_baseline, file)


# Nothing is run, nothing is unpickled, and no file that a report names is opened ----------------------------

_seen: list[tuple[str, str]] | None = None


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _seen is not None:
        _seen.append((event, repr(arguments)[:500]))


@contextlib.contextmanager
def watched() -> Iterator[list[tuple[str, str]]]:
    """What the interpreter tells of while it lasts; a hook cannot be taken out again."""
    global _seen
    if not getattr(sys, "_faultinject_tests_watch", False):
        sys.addaudithook(_watch)
        sys._faultinject_tests_watch = True  # type: ignore[attr-defined]
    _seen = seen = []
    try:
        yield seen
    finally:
        _seen = None


def test_a_report_is_only_ever_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("raise SystemExit")
    path = tmp_path / "report.json"
    for one in (suite(), hostile()):
        path.write_bytes(
            json_of(one.recording, one.environment, one.results, one.summary).replace(
                b"acme/engine.py", str(secret).encode()
            )
        )
        assert show_in_every_format(path), "the first time brings in what shows it"
    with watched() as seen:
        assert show_in_every_format(path)
    opened = {arguments for event, arguments in seen if event == "open"}
    assert any(str(path) in one for one in opened)
    assert not [one for one in opened if "secret" in one or "passwd" in one]
    forbidden = (
        "pickle",
        "marshal",
        "subprocess",
        "os.system",
        "os.exec",
        "os.fork",
        "socket",
        "ctypes",
        "import",
    )
    assert not [event for event, _ in seen if event.startswith(forbidden)]
