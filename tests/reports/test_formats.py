from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from faultinject.errors import UsageError
from faultinject.reports import (
    FORMATS,
    check_writable,
    parse_report,
    reporter_of,
    reporters_for,
    write_suites,
    write_whole,
)
from tests.reports._sample import ENVIRONMENT, RECORDING, sweep
from tests.reports._suites import suite


def test_every_format_can_be_asked_for_by_one_option(tmp_path: Path) -> None:
    wanted = [parse_report(f"{name}:{tmp_path / name}") for name in FORMATS]
    reporters = reporters_for(wanted=wanted, terminal=False)
    reporters.start(RECORDING, ENVIRONMENT, 20)
    for case in sweep():
        reporters.case(case)
    reporters.finish(suite().summary)
    reporters.close()

    assert {path.name for path in tmp_path.iterdir()} == set(FORMATS)
    assert json.loads((tmp_path / "json").read_text())["summary"]["violations"] == 12
    assert json.loads((tmp_path / "sarif").read_text())["version"] == "2.1.0"
    assert (tmp_path / "junit").read_text().startswith("<?xml")


@pytest.mark.parametrize("name", ["junit", "sarif", "markdown", "github", "html"])
def test_every_report_has_the_command_that_needs_no_earlier_sweep(tmp_path: Path, name: str) -> None:
    write_suites(parse_report(f"{name}:{tmp_path / name}"), [suite()])
    text = (tmp_path / name).read_text()
    assert f"faultinject replay {sweep()[8].id} --target acme:Engine --release shutdown" in text
    if name == "html":
        # The script puts the id of whichever case is looked at between the two.
        assert '"replay":["faultinject replay "," --target acme:Engine --release shutdown"]' in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("junits:x.xml", r"unknown report 'junits:x.xml' \(did you mean junit\?\)"),
        ("x.xml", "write it as FORMAT:FILE"),
        ("", "with one of json, junit"),
        ("json", "has no file"),
    ],
)
def test_a_report_that_there_is_not_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_report(text)


def test_without_a_file_it_goes_to_the_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("github", "github:-"):
        write_suites(parse_report(text), [suite()])
        assert capsys.readouterr().out.startswith("::error ")


def test_a_file_that_cannot_be_written_is_found_before_the_first_case(tmp_path: Path) -> None:
    reporter = reporter_of(parse_report(f"junit:{tmp_path / 'nowhere' / 'x.xml'}"))
    with pytest.raises(UsageError, match="cannot write the report"):
        reporter.start(RECORDING, ENVIRONMENT, 1)
    there = tmp_path / "x.xml"
    reporter_of(parse_report(f"junit:{there}")).start(RECORDING, ENVIRONMENT, 1)
    assert not there.exists()


def test_the_step_summary_of_github_is_added_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("# before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    write_suites(parse_report(f"markdown:{summary}"), [suite()])
    assert summary.read_text().startswith("# before\n### faultinject")
    other = tmp_path / "other.md"
    other.write_text("# before\n")
    write_suites(parse_report(f"markdown:{other}"), [suite()])
    assert other.read_text().startswith("### faultinject")


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="cannot write"):
        write_whole(tmp_path / "none" / "x", b"x")
    write_whole(tmp_path / "x", b"one")
    write_whole(tmp_path / "x", b"two")
    assert (tmp_path / "x").read_bytes() == b"two"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "x"]


def test_nothing_is_written_through_a_link_that_lies_there(tmp_path: Path) -> None:
    away = tmp_path / "away"
    away.write_bytes(b"theirs")
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("x", ".x.part"):
        (folder / name).symlink_to(away)
    check_writable(folder / "x")
    assert (folder / "x").is_symlink()
    write_whole(folder / "x", b"ours")
    assert away.read_bytes() == b"theirs"
    assert not (folder / "x").is_symlink()
    assert (folder / "x").read_bytes() == b"ours"
    (folder / "dangling").symlink_to(tmp_path / "new")
    check_writable(folder / "dangling")
    assert not (tmp_path / "new").exists()
    assert sorted(path.name for path in folder.iterdir()) == ["dangling", "x"]


def test_an_interrupted_sweep_has_its_reports_too(tmp_path: Path) -> None:
    from faultinject.reports import summarise

    reporter = reporter_of(parse_report(f"sarif:{tmp_path / 'x'}"))
    reporter.start(RECORDING, ENVIRONMENT, 20)
    reporter.finish(summarise([], RECORDING, complete=False))
    run = json.loads((tmp_path / "x").read_text())["runs"][0]
    assert run["invocations"] == [{"executionSuccessful": False}]


@pytest.mark.parametrize("name", ["junit", "sarif", "markdown", "github", "html"])
def test_a_command_from_elsewhere_is_text_in_every_report(tmp_path: Path, name: str) -> None:
    words = ("--target", "a`|</script><img src=x onerror=pwn()>\n::error::pwned\x1b[2J")
    environment = msgspec.structs.replace(ENVIRONMENT, replay=words)
    write_suites(
        parse_report(f"{name}:{tmp_path / name}"), [msgspec.structs.replace(suite(), environment=environment)]
    )
    text = (tmp_path / name).read_text()
    assert "pwned" in text
    assert "\n::error::pwned" not in text
    assert "\x1b" not in text
    if name in ("html", "junit"):
        assert "<img" not in text
    if name == "markdown":
        (row,) = {line for line in text.splitlines() if "pwned" in line and "| 8 |" in line}
        assert row.count("|") == 5
        assert row.count("`") == 2
