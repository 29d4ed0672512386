from __future__ import annotations

import json
import os
import re
import resource
import signal
import time
from pathlib import Path

import msgspec
import pytest

from faultinject.errors import UsageError
from faultinject.facts import CaseResult, Recording
from faultinject.reports import (
    SCHEMA,
    JsonReporter,
    Report,
    _json,
    check_resumable,
    finished_ids,
    read_report,
    summarise,
)
from tests.reports._sample import ENVIRONMENT, NESTED, POINTS, RECORDING, result, sweep

DOC = Path(__file__).parents[2] / "docs" / "report-schema.md"


def write(path: Path, cases: list[CaseResult], *, complete: bool | None = True) -> Path:
    reporter = JsonReporter(path)
    reporter.start(RECORDING, ENVIRONMENT, len(cases))
    for case in cases:
        reporter.case(case)
    if complete is None:
        reporter.close()
    else:
        reporter.finish(summarise(cases, RECORDING, complete=complete))
    return path


def changed(recording: Recording, **changes: object) -> Recording:
    return msgspec.structs.replace(recording, **changes)


def test_a_report_comes_back_as_it_was_written(tmp_path: Path) -> None:
    cases = [*sweep(), result(POINTS[0], NESTED, fault="SystemExit")]
    report = read_report(write(tmp_path / "r.json", cases))
    assert report.cases == tuple(cases)
    assert report.full_recording() == RECORDING
    assert report.environment == ENVIRONMENT
    assert report.summary == summarise(cases, RECORDING)
    assert report.complete


def test_the_document_has_the_documented_keys_in_their_order(tmp_path: Path) -> None:
    document = json.loads(write(tmp_path / "r.json", sweep()).read_text())
    assert list(document) == [
        "schema",
        "target",
        "level",
        "environment",
        "recording",
        "points",
        "cases",
        "summary",
    ]
    assert document["schema"] == SCHEMA
    assert {
        "id",
        "point",
        "phase",
        "fault",
        "verdict",
        "violation",
        "charged_to",
        "owned",
        "released",
        "left",
        "exception",
        "runner",
        "seconds",
    } <= set(document["cases"][0])


def test_the_file_is_a_whole_document_after_every_case(tmp_path: Path) -> None:
    path, cases = tmp_path / "r.json", sweep()
    reporter = JsonReporter(path)
    reporter.start(RECORDING, ENVIRONMENT, len(cases))
    assert read_report(path).cases == ()
    for number, case in enumerate(cases, 1):
        reporter.case(case)
        report = read_report(path)
        assert len(report.cases) == number
        assert report.summary is None
        assert not report.complete
    reporter.close()
    reporter.close()


def test_a_sweep_that_is_killed_keeps_what_it_had(tmp_path: Path) -> None:
    path, cases = tmp_path / "r.json", sweep()
    child = os.fork()
    if child == 0:
        try:
            reporter = JsonReporter(path)
            reporter.start(RECORDING, ENVIRONMENT, 10_000)
            while True:
                for case in cases:
                    reporter.case(case)
        finally:
            os._exit(1)
    deadline = time.monotonic() + 30
    while (not path.exists() or path.stat().st_size < 100_000) and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    report = read_report(path)
    assert {case.id for case in report.cases} == {case.id for case in cases}
    assert not report.complete


def test_a_write_that_a_kill_ends_between_two_pages_costs_the_last_case_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Wherever in the document a page may end.
    monkeypatch.setattr(_json, "_PAGE", 1)
    cases = [msgspec.structs.replace(sweep()[n % 20], id=f"{n:08x}") for n in range(6)]
    path = write(tmp_path / "r.json", cases)
    data = path.read_bytes()
    ends = [data.index(b'{"id":"%s"' % case.id.encode()) - 2 for case in cases[1:]] + [data.rindex(b"\n],")]
    for page in range(data.index(b'"cases": [') + 10, len(data) - 3):
        path.write_bytes(data[:page])
        report = read_report(path)
        assert list(report.cases) == cases[: sum(end <= page for end in ends)], page
        assert not report.complete


def test_a_summary_that_is_whole_is_kept_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_json, "_PAGE", 1)
    path = write(tmp_path / "r.json", sweep())
    path.write_bytes(path.read_bytes().removesuffix(b"}\n"))
    assert read_report(path).complete
    path.write_bytes(path.read_bytes()[:-2])
    assert not read_report(path).complete


def test_brackets_that_close_the_document_lie_on_one_page(tmp_path: Path) -> None:
    reporter, case = JsonReporter(tmp_path / "r.json"), sweep()[0]
    reporter.start(RECORDING, ENVIRONMENT, 5000)
    for length in range(5000):
        reporter.case(msgspec.structs.replace(case, notes=("x" * (length % 7),)))
        size = reporter.path.stat().st_size
        assert (size - 1) // 4096 == (size - 5) // 4096
    reporter.close()
    assert len(read_report(reporter.path).cases) == 1


def test_an_interrupted_sweep_may_still_add_its_summary(tmp_path: Path) -> None:
    report = read_report(write(tmp_path / "r.json", sweep()[:7], complete=False))
    assert report.summary is not None
    assert report.summary.cases == 7
    assert not report.complete


def test_no_case_and_thousands_of_cases_are_documents_too(tmp_path: Path) -> None:
    assert read_report(write(tmp_path / "none.json", [])).cases == ()
    many = [msgspec.structs.replace(sweep()[0], id=f"{n:08x}") for n in range(2300)]
    assert len(read_report(write(tmp_path / "many.json", many)).cases) == 2300


def test_the_cost_of_a_case_does_not_grow_with_those_before_it(tmp_path: Path) -> None:
    reporter, case = JsonReporter(tmp_path / "r.json"), sweep()[0]
    reporter.start(RECORDING, ENVIRONMENT, 3000)
    sizes = []
    for _ in range(3):
        before = _written()
        for _ in range(1000):
            reporter.case(case)
        sizes.append(_written() - before)
    reporter.close()
    assert max(sizes) <= min(sizes) * 1.1 + 4096


def _written() -> int:
    return int(re.search(r"wchar: (\d+)", Path("/proc/self/io").read_text()).group(1))  # type: ignore[union-attr]


def test_of_an_id_that_comes_twice_the_later_verdict_counts(tmp_path: Path) -> None:
    screened = result(POINTS[4], verdict="hang", confirmed=False)
    confirmed = result(POINTS[4])
    report = read_report(write(tmp_path / "r.json", [screened, result(POINTS[5]), confirmed]))
    assert report.cases == (confirmed, result(POINTS[5]))


def test_resuming_a_report_onto_itself_never_loses_a_case(tmp_path: Path) -> None:
    path, cases = write(tmp_path / "r.json", sweep()[:5], complete=None), sweep()
    earlier = read_report(path)
    done = finished_ids(earlier, RECORDING)
    reporter = JsonReporter(path, earlier=earlier.cases)
    assert len(read_report(path).cases) == 5
    reporter.start(RECORDING, ENVIRONMENT, len(cases))
    assert len(read_report(path).cases) == 5
    for case in cases:
        if case.id not in done:
            reporter.case(case)
    reporter.finish(summarise(cases, RECORDING))
    assert read_report(path).cases == tuple(cases)
    assert [file.name for file in tmp_path.iterdir()] == ["r.json"]


def test_names_that_are_no_utf8_are_written_as_escapes(tmp_path: Path) -> None:
    odd = result(POINTS[4], left=("/tmp/\udcff\x1b[31m",))
    assert read_report(write(tmp_path / "r.json", [odd])).cases[0].left == ("/tmp/\\udcff\x1b[31m",)


def test_a_full_disk_keeps_the_cases_that_were_written(tmp_path: Path) -> None:
    path, cases = tmp_path / "r.json", sweep()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            reporter = JsonReporter(path)
            reporter.start(RECORDING, ENVIRONMENT, 20)
            reporter.case(cases[0])
            limit = path.stat().st_size + 100
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            try:
                reporter.case(cases[1])
            except UsageError as error:
                status = 0 if "cannot write the report" in str(error) and "1 case kept" in str(error) else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [case.id for case in read_report(path).cases] == [cases[0].id]


def test_a_report_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    reporter = JsonReporter(tmp_path / "no" / "r.json")
    with pytest.raises(UsageError, match=r"cannot write the report .*r\.json: No such file or directory$"):
        reporter.start(RECORDING, ENVIRONMENT, 1)
    with pytest.raises(RuntimeError, match="not open"):
        reporter.case(sweep()[0])


def test_a_reporter_holds_no_file_once_it_is_finished(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    write(tmp_path / "a.json", sweep())
    write(tmp_path / "b.json", sweep(), complete=None)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda text: text[:-200],
            r"is no whole JSON document: input data was truncated at byte \d+, line \d+: ",
        ),
        (lambda text: "", r"is no whole JSON document: input data was truncated at byte 0, line 1"),
        (lambda text: text + "}", r"trailing characters \(byte \d+\), line \d+: sweep again"),
        (lambda text: text.replace('"level"', "level"), r"malformed.*\(byte \d+\), line 4"),
        (lambda text: "[1, 2]", r"is no faultinject report: expected `object`, got `array`"),
        (lambda text: "{}", "is a report without a schema, this faultinject reads 'faultinject-report/1'"),
        (
            lambda text: text.replace("report/1", "report/2"),
            "of schema 'faultinject-report/2', this faultinject",
        ),
        (
            lambda text: text.replace('"leak"', '"leek"'),
            r"does not follow .*invalid enum value 'leek' - at `\$\.ca",
        ),
        (lambda text: text.replace('"target"', '"tarmac"', 1), "missing required field `target`"),
        (lambda text: text.replace('"violation":true', '"violation":1'), "expected `bool`, got `int`"),
    ],
)
def test_a_spoiled_report_is_refused_in_one_line(tmp_path: Path, spoil: object, message: str) -> None:
    path = write(tmp_path / "r.json", sweep())
    path.write_text(spoil(path.read_text()))  # type: ignore[operator]
    with pytest.raises(UsageError, match=message) as caught:
        read_report(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_missing_report_and_one_of_bytes_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the report"):
        read_report(tmp_path / "none.json")
    (tmp_path / "bytes").write_bytes(b'{"schema": "\xff\xfe"}')
    with pytest.raises(UsageError, match="is no whole JSON document"):
        read_report(tmp_path / "bytes")


def test_fields_that_a_later_release_adds_are_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", sweep())
    path.write_text(path.read_text().replace('"violation":true', '"violation":true,"mood":"sad"'))
    assert len(read_report(path).cases) == 20


@pytest.mark.parametrize(
    ("recording", "message"),
    [
        (changed(RECORDING, target="acme:Other"), "is of target acme:Engine, not acme:Other"),
        (changed(RECORDING, level="sites"), "is of level steps, not sites"),
        (
            changed(RECORDING, points=POINTS[1:]),
            "1 gone, 0 new, such as 'steps before acme.engine:Engine.__init__",
        ),
    ],
)
def test_a_report_of_another_sweep_is_not_resumed(tmp_path: Path, recording: Recording, message: str) -> None:
    report = read_report(write(tmp_path / "r.json", sweep()))
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        finished_ids(report, recording)
    assert str(caught.value).endswith("sweep again without --resume")


def test_a_report_of_another_version_is_not_resumed(tmp_path: Path) -> None:
    report = read_report(write(tmp_path / "r.json", sweep()))
    check_resumable(report, RECORDING, msgspec.structs.replace(ENVIRONMENT, python="3.12.9"))
    for changes, message in (
        ({"target_version": "3.0"}, "target version 2.4.0, not 3.0"),
        ({"python": "3.13.0"}, "Python 3.12, not 3.13"),
    ):
        with pytest.raises(UsageError, match=message):
            check_resumable(report, RECORDING, msgspec.structs.replace(ENVIRONMENT, **changes))


def test_the_example_in_the_documentation_is_a_valid_report(tmp_path: Path) -> None:
    example = re.search(r"```json\n(.*?)```", DOC.read_text(), re.DOTALL)
    assert example is not None
    path = tmp_path / "example.json"
    path.write_text(example.group(1))
    report = read_report(path)
    assert report.complete
    check_resumable(report, report.full_recording(), report.environment)


def test_the_documentation_names_every_field() -> None:
    text = DOC.read_text()
    todo: list[type] = [Report]
    seen: set[type] = set()
    while todo:
        struct = todo.pop()
        seen.add(struct)
        for field in msgspec.structs.fields(struct):
            assert f"`{field.name}`" in text, f"{struct.__name__}.{field.name} is not documented"
            for part in re.findall(r"faultinject\.facts\.(\w+)", str(field.type)):
                inner = getattr(__import__("faultinject.facts", fromlist=[part]), part)
                if inner not in seen:
                    todo.append(inner)
