"""``faultinject gate`` and ``faultinject diff`` as their users meet them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree as xml

import pytest

from faultinject.gate._self_test import Check
from tests.cli._command import LIGHT, Command, one_line
from tests.cli._here import here
from tests.reports.test_sarif import valid

PYPROJECT = """\
[tool.faultinject.targets.light]
callable = "light:Light"
release = "close"

[tool.faultinject.gate]
fault = ["RuntimeError"]
repeats = 1
settle = 0.05
jobs = 1
"""
BASELINE = "matrices/light.steps.baseline.toml"
GRANT = ("--reason", "known", "--owner", "ann", "--expires", "2100-01-01")
LONGER = LIGHT.replace("        os.getppid()\n", "        os.getppid()\n        os.getpid()\n", 1)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with a gate for the class `Light`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    (tmp_path / "light.py").write_text(LIGHT)
    return tmp_path


def test_the_command_in_a_process_of_its_own(command: Command) -> None:
    command.write("pyproject.toml", PYPROJECT)
    done = command.run("gate", "--report", "sarif:out.sarif", "--report", "github")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "new violation: leak, 2 cases: Light.__init__ has no handler around line 8" in done.stdout
    assert f"there is no baseline {BASELINE} yet" in done.stdout
    assert "::error file=light.py,line=8,title=faultinject%3A leak::" in done.stdout
    run = valid((command.directory / "out.sarif").read_text())
    assert {r["ruleId"] for r in run["results"]} == {"leak", "baseline-changed"}
    assert not command.left()


def test_a_gate_through_the_life_of_a_defect(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert here("gate", "--accept")[0] == 1
    assert "accepted only with --reason, --owner and --expires" in capsys.readouterr().out
    assert here("gate", "--accept", *GRANT)[0] == 0
    assert f"wrote {BASELINE}\n" in capsys.readouterr().out

    text = (project / BASELINE).read_text()
    (project / BASELINE).write_text(text.replace("2100-01-01", "2020-01-01"))
    assert here("gate", "--report", "json:out.json")[0] == 1
    said = capsys.readouterr().out
    assert "expired: leak of fds charged to Light.__init__: the suppression was good until 2020-01-01" in said
    document = json.loads((project / "out.json").read_text())
    assert [change["kind"] for change in document["sweeps"][0]["ruling"]["changes"]] == ["expired"]

    (project / BASELINE).write_text(text)
    assert here("gate")[0] == 0
    said = capsys.readouterr().out
    assert said == "The gate passes: nothing new in 4 cases of 1 sweep (2 cases suppressed).\n"


def test_a_target_that_is_broken_costs_no_other_its_sweep(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rest = PYPROJECT.partition("[tool.faultinject.gate]")[2]
    tables = "".join(
        f'[tool.faultinject.targets.{name}]\ncallable = "light:{of}"\n'
        for name, of in (("broken", "Gone"), ("clean", "Clean"), ("leaks", "Light"))
    )
    (project / "pyproject.toml").write_text(f"{tables}[tool.faultinject.gate]{rest}")
    (project / ".git").mkdir()
    reports = [f"--report={name}:out.{name}" for name in ("junit", "markdown", "sarif", "json", "html")]
    assert here("gate", *reports, "--report", "github") == (2, "")
    said = capsys.readouterr()
    assert "light has no 'Gone'" in one_line(said.err)
    assert "new violation: leak" in said.out
    assert (
        "::error file=pyproject.toml,line=1,title=faultinject%3A it could not be swept::broken at" in said.out
    )
    assert said.out.endswith(
        "The gate fails: 1 of 3 sweeps could not be made (broken at level steps), 1 new violation "
        "in 8 cases of 2 sweeps.\n"
    )

    junit = xml.parse(project / "out.junit").getroot()
    (error,) = junit.iter("error")
    assert "light has no 'Gone'" in (error.text or "")
    assert (junit.get("errors"), junit.find("testsuite[1]").get("errors")) == ("1", "1")  # type: ignore[union-attr]
    markdown = (project / "out.markdown").read_text()
    assert "**The gate fails: it could not be swept**." in markdown
    assert "passes" not in markdown
    assert "it could not be swept" in (project / "out.html").read_text()
    (invocation,) = valid((project / "out.sarif").read_text())["invocations"]
    assert not invocation["executionSuccessful"]
    assert "light has no 'Gone'" in invocation["toolExecutionNotifications"][0]["message"]["text"]
    document = json.loads((project / "out.json").read_text())
    assert [sweep["ruling"]["status"] for sweep in document["sweeps"]] == [2, 3, 1]
    assert (document["status"], document["sweeps"][0]["report"]) == (2, None)


@pytest.mark.usefixtures("project")
def test_a_gate_of_which_nothing_could_be_swept_says_only_that(capsys: pytest.CaptureFixture[str]) -> None:
    Path("light.py").write_text("raise RuntimeError('out of order')\n")
    assert here("gate", "--accept")[0] == 2
    said = capsys.readouterr()
    assert "RuntimeError: out of order" in said.err
    assert said.out == "The gate fails: 1 of 1 sweep could not be made (light at level steps).\n"
    assert not Path(BASELINE).exists()


def test_a_budget_says_how_many_were_found_and_ran_and_the_seed(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here("gate", "--budget", "1m", "--seed", "7")
    said = capsys.readouterr().out
    assert "light at level steps: 4 fault points found, 4 ran (4 of 4 cases), seed 7" in said


def test_two_projects_with_a_target_of_one_name_have_a_record_each(project: Path) -> None:
    (project / "below").mkdir()
    for name in ("pyproject.toml", "light.py"):
        (project / "below" / name).write_bytes((project / name).read_bytes())
    names = set()
    for directory in (".", "below", "."):
        here("gate", "--directory", directory)
        names |= {path.name for path in (project / ".faultinject" / "gate").iterdir()}
    assert len(names) == 2
    assert all(name.startswith("light.steps") for name in names)


@pytest.mark.usefixtures("project")
def test_the_self_test_says_what_it_did(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # What it does is tried in tests/gate.
    checks = [Check("a planted leak: a new violation", 1, 1), Check("with the baseline", 0, 0)]
    monkeypatch.setattr("faultinject.gate.self_test", lambda *_: iter(checks))
    assert here("gate", "--self-test")[0] == 0
    said = capsys.readouterr().out
    assert "a planted leak: a new violation: status 1, as it must\n" in said
    assert said.endswith("The gate fails in each direction, and passes where nothing is wrong.\n")

    checks[0] = Check("a planted leak: a new violation", 1, 0)
    assert here("gate", "--self-test")[0] == 1
    said = capsys.readouterr().out
    assert "a planted leak: a new violation: status 0, but it must be 1\n" in said
    assert said.endswith("The gate does not fail where it must: do not rely on it here.\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nope",), "the gate names no target 'nope'; it names light"),
        (("--level", "sites"), "the gate has no sweep at level sites; it has steps"),
        (("--level", "stips"), "unknown level 'stips'"),
        (("--budget", "soon"), "no time 'soon'"),
        (("--budget", "9" * 400 + "h"), "at most 1000h"),
        (("--report", "html5:x"), "unknown report 'html5:x'"),
        (("--report", "junit:none/x.xml"), "cannot write the report"),
        (GRANT, "belong to --accept"),
        (("--accept", "--reason", "x"), "give --owner, --expires too"),
    ],
)
@pytest.mark.usefixtures("project")
def test_a_wrong_request_is_one_line_and_status_2(words: tuple[str, ...], said: str) -> None:
    status, error = here("gate", *words)
    assert status == 2
    assert said in one_line(error)


def test_a_seed_that_is_far_too_large_is_refused(command: Command) -> None:
    command.write("pyproject.toml", PYPROJECT)
    done = command.run("gate", "--budget", "1m", "--seed", "9" * 400)
    assert done.returncode == 2
    assert "1000000000" in one_line(done.stderr)


@pytest.mark.usefixtures("project")
def test_a_run_number_that_is_far_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_RUN_NUMBER", "7" * 5000)
    status, error = here("gate", "--budget", "1m")
    assert status == 2
    assert "GITHUB_RUN_NUMBER has 5000 digits" in one_line(error)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PYPROJECT + "sample = 9999999999\n", "sample: 9999999999 is not between 0 and 1000000000"),
        (PYPROJECT + "levels = 'steps'\n", "unknown key 'levels' (did you mean level?)"),
        (PYPROJECT + "times = -1\n", "times: -1 is not between 0 and"),
        (PYPROJECT + "deadline = nan\n", "deadline: nan is not between 0 and"),
        (PYPROJECT.replace("repeats = 1", "repeats = 9"), "repeats: 9 is not between 1 and 5"),
        (PYPROJECT + "second = 'yes'\n", "second: expected `bool`, got `str`"),
        (PYPROJECT.replace('["RuntimeError"]', '["RuntimeEror"]'), "unknown fault 'RuntimeEror'"),
        (PYPROJECT + "[[tool.faultinject.gate.sweep]]\ntarget = 'light'\n" * 2, "is named twice"),
    ],
)
def test_a_wrong_table_is_one_line_and_status_2(project: Path, text: str, said: str) -> None:
    (project / "pyproject.toml").write_text(text)
    status, error = here("gate")
    assert status == 2
    assert said in one_line(error)
    assert "pyproject.toml" in error


def test_a_report_is_compared_with_another_version_of_the_target(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--fault", "RuntimeError", "--repeats", "1", "--jobs", "1", "--settle", "0.05")
    here("sweep", "light", *options, "-q", "--json", "a.json", "--report", "junit:a.xml")
    assert (project / "a.xml").read_text().startswith("<?xml")
    assert here("diff", "a.json", "a.json")[0] == 0
    assert capsys.readouterr().out.endswith("A and B do not differ.\n")

    # A virtual environment with its version of the target: here, this interpreter's.
    (project / "light.py").write_text(LONGER)
    assert here("diff", "a.json", sys.prefix, "--target", "light", *options, "--json", "diff.json")[0] == 1
    assert "2 fault points appeared\n  before and after getpid (Light.__init__)\n" in capsys.readouterr().out
    assert json.loads((project / "diff.json").read_text())["schema"] == "faultinject-diff/1"


@pytest.mark.parametrize("name", ["report", "report.txt", "python.report", "a.json", "python-3"])
def test_a_report_is_never_executed_whatever_its_mode_is(project: Path, name: str) -> None:
    report = project / name
    report.write_text("#!/bin/sh\ntouch executed; echo 0.1.0\n")
    report.chmod(0o755)
    assert here("diff", str(report), str(report), "--target", "light")[0] == 2
    assert not (project / "executed").exists()


def test_what_cannot_be_compared_is_said(project: Path) -> None:
    (project / "a.json").write_text("{}")
    (project / "tmp").mkdir()
    (project / "true").mkdir()
    (project / "true" / "python3.11").symlink_to("/bin/true")
    for words, said in (
        (("a.json", "a.json"), "without a schema"),
        (("none.json", "a.json"), "cannot read the report none.json"),
        (("tmp", "a.json"), "tmp is no virtual environment"),
        ((sys.prefix, "a.json"), "say with --target what to sweep in it"),
        ((sys.prefix, "a.json", "--target", "light:Nope"), "light has no 'Nope'"),
        (("true/python3.11", "a.json", "--target", "light"), "true/python3.11 has no faultinject"),
        (("a.json", "a.json", "--json", "none/x.json"), "cannot write the report"),
    ):
        status, error = here("diff", *words)
        assert status == 2, words
        assert said in one_line(error), words
