"""``faultinject report``, and how much is said: --quiet and --verbose."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from faultinject.reports import JsonReporter, summarise
from tests.cli._command import Command
from tests.reports._sample import ENVIRONMENT, RECORDING

HOSTILE = Path(__file__).parents[1] / "hostile"
SWEEP = ("light:Light", "--release", "close", "--fault", "RuntimeError", "--repeats", "1")


@pytest.fixture
def swept(command: Command) -> Command:
    """A directory with a report ``r.json``, and what the sweep printed in ``printed``."""
    done = command.run("sweep", *SWEEP, "--json", "r.json")
    assert done.returncode == 1, done.stderr
    command.write("printed", done.stdout)
    return command


def one_line(text: str) -> str:
    assert text.count("\n") == 1, text
    assert text.startswith("faultinject: ")
    return text


def test_a_report_is_shown_again_as_the_sweep_had_shown_it(swept: Command) -> None:
    done = swept.run("report", "r.json")
    assert done.returncode == 0
    printed = (swept.directory / "printed").read_text()
    assert done.stdout == printed[printed.index("\nOwned by the target") :]
    quiet = swept.run("report", "r.json", "-q").stdout
    assert printed.endswith(quiet)
    assert "Lifecycle matrix" not in quiet


def test_a_page_and_other_formats_are_made_of_it(swept: Command) -> None:
    done = swept.run("report", "r.json", "html:r.html", "markdown:-", "junit:r.xml")
    assert done.returncode == 0, done.stderr
    assert "### faultinject" in done.stdout
    assert done.stdout.endswith("wrote r.xml\n")
    assert (swept.directory / "r.html").read_text().startswith("<!doctype html>")
    assert (swept.directory / "r.xml").read_text().startswith("<?xml")


def test_a_sweep_makes_the_same_page_at_once(swept: Command) -> None:
    done = swept.run("sweep", *SWEEP, "--json", "r.json", "--report", "html:at-once.html", "-q")
    assert done.returncode == 1
    assert swept.run("report", "r.json", "html:later.html").returncode == 0
    at_once, later = ((swept.directory / name).read_text() for name in ("at-once.html", "later.html"))
    assert at_once == later


def test_a_comparison_becomes_a_page_of_both(swept: Command) -> None:
    done = swept.run("compare", "light:Light", "light:Clean", *SWEEP[3:], "--json", "both.json", "--quiet")
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert done.stdout.startswith("light:Clean has no violation at level steps")
    assert swept.run("report", "both.json", "html:both.html").returncode == 0
    page = (swept.directory / "both.html").read_text()
    assert page.count('<section class="sweep"') == 2
    assert swept.run("report", "both.json").stdout.count("Lifecycle matrix of") == 2


def test_a_sweep_that_was_killed_can_be_shown(swept: Command) -> None:
    path = swept.directory / "r.json"
    document = json.loads(path.read_text())
    del document["summary"]
    path.write_text(json.dumps(document))
    done = swept.run("report", "r.json")
    assert done.returncode == 0
    assert "Interrupted after 4 of 4 cases of light:Light, with 2 violations so far." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["gone.json"], "cannot read the report gone.json: No such file"),
        (["bad.json"], "has the key 'level' twice"),
        (["r.json", "htlm:x"], "did you mean html?"),
        (["r.json", "json:x"], "it is JSON already"),
        (["r.json", "html:no/such/folder/x"], "cannot write the html report"),
        (["r.json", "--quiet", "--verbose"], "--quiet and --verbose contradict each other"),
        ([], "Missing argument"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(command: Command, arguments: list[str], what: str) -> None:
    kept = JsonReporter(command.directory / "r.json")
    kept.start(RECORDING, ENVIRONMENT, 20)
    kept.finish(summarise([], RECORDING))
    shutil.copy(HOSTILE / "reports" / "key-twice.json", command.directory / "bad.json")
    done = command.run("report", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert what in one_line(done.stderr)


def test_verbose_tells_of_each_case_and_each_stage(command: Command) -> None:
    done = command.run("sweep", *SWEEP, "--verbose")
    cases = re.findall(
        r"^([0-9a-f]{8}) (\w+): (before|after) .*, RuntimeError.* \(.* s, zygote.*\)$", done.stdout, re.M
    )
    assert {verdict for _, verdict, _ in cases} == {"leak", "clean"}
    assert len({case for case, _, _ in cases}) == 4
    assert re.search(r"^Took .* s$", done.stdout, re.M)
    assert re.search(r"^ +record +\d", done.stdout, re.M)


def test_quiet_and_verbose_together_are_refused_before_anything_runs(command: Command) -> None:
    done = command.run("sweep", "nothing:There", "-q", "-v")
    assert done.returncode == 2
    assert "give one of them" in one_line(done.stderr)


def test_a_matrix_that_leads_out_of_its_folder_is_not_read(command: Command) -> None:
    (command.directory / "matrices").mkdir()
    command.write("elsewhere.toml", "format = 1\n")
    (command.directory / "matrices" / "light-Light.toml").symlink_to("../elsewhere.toml")
    for arguments in (("sweep", *SWEEP, "--matrices", "matrices"), ("matrix", *SWEEP[:5])):
        done = command.run(*arguments)
        assert done.returncode == 2
        assert "the matrix matrices/light-Light.toml leads out of matrices" in one_line(done.stderr)
    assert (command.directory / "elsewhere.toml").read_text() == "format = 1\n"


def test_a_link_in_the_state_folder_is_replaced_and_not_written_through(command: Command) -> None:
    state = command.directory / ".faultinject"
    state.mkdir()
    command.write("mine", "precious")
    for name in ("last.json", "last-options.json", ".last-options.json.part"):
        (state / name).symlink_to("../mine")
    assert command.run("sweep", *SWEEP, "-q").returncode == 1
    assert (command.directory / "mine").read_text() == "precious"
    assert not (state / "last.json").is_symlink()
    assert not (state / "last-options.json").is_symlink()


@pytest.mark.parametrize("text", ["", "{", '{"target": 1}', "[" * 5000, '{"target": "a", "target": "b"}'])
def test_options_that_somebody_left_are_refused_in_one_line(command: Command, text: str) -> None:
    state = command.directory / ".faultinject"
    state.mkdir()
    (state / "last-options.json").write_text(text)
    done = command.run("replay", "0badc0de")
    assert done.returncode == 2
    assert "last-options.json cannot be read" in one_line(done.stderr)
