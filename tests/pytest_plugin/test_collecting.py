"""One test becomes one for each case while pytest collects."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from faultinject.errors import UsageError
from faultinject.pytest_plugin._settings import durations_of, settings_for
from tests.pytest_plugin.conftest import CLIENT, MARKED, MATRIX, Project

CASES = [
    "test_gives_back[Client.__init__:7 pipe before RuntimeError]",
    "test_gives_back[Client.__init__:7 pipe after RuntimeError]",
    "test_gives_back[Client.__init__:8 Client.greet before RuntimeError]",
    "test_gives_back[Client.__init__:8 Client.greet after RuntimeError]",
]
CHECK = "test_gives_back[every call is in the committed matrix]"


def mark(arguments: str) -> str:
    return f"import pytest\n\n@pytest.mark.faultinject({arguments})\ndef test_it():\n    pass\n"


def test_the_committed_matrix_names_the_cases_and_the_target_is_not_imported(project: Project) -> None:
    project.write("client.py", "raise SystemExit('imported')")
    project.commit_matrix()
    project.write("test_client.py", MARKED)
    assert project.collect() == [*CASES, CHECK]
    assert project.left() == []


def test_a_matrix_without_the_frame_names_the_target_instead(project: Project) -> None:
    project.commit_matrix(MATRIX.replace('frame = "client:Client.__init__"\n', ""))
    project.write("test_client.py", MARKED)
    assert project.collect()[0] == "test_gives_back[Client:7 pipe before RuntimeError]"


def test_a_constructor_is_called_by_its_class_and_a_call_that_comes_again_by_its_number(
    project: Project,
) -> None:
    again = MATRIX.replace('callee = "client:Client.greet"', 'callee = "client:Part.__init__"') + (
        '\n[[step]]\nnumber = 3\ncallee = "client:Part.__init__"\nline = 9\ncaller = "client:Base.__init__"\n'
        'verdicts = { "before KeyboardInterrupt" = "leak" }\n'
        '\n[[step]]\nnumber = 4\ncallee = "client:Part.__init__"\nline = 9\ncaller = "client:Base.__init__"\n'
        'verdicts = { "before KeyboardInterrupt" = "leak" }\n'
    )
    project.commit_matrix(again)
    project.write("test_client.py", mark('"client:Client"'))
    names = [name.partition("[")[2] for name in project.collect()]
    assert "Client.__init__:8 Part before RuntimeError]" in names
    assert "Base.__init__:9 Part before KeyboardInterrupt]" in names
    assert "Base.__init__:9 Part #2 before KeyboardInterrupt]" in names


def test_without_a_matrix_a_recording_names_the_same_cases(project: Project) -> None:
    project.write("test_client.py", MARKED)
    result = project.run("--collect-only", "-q")
    assert [line.partition("::")[2] for line in result.outlines if "::" in line] == CASES
    assert project.left() == []


BASELINE = """\
format = 1
target = "client:Client"
level = "sites"
faults = ["OSError:EPIPE"]
points = [
    "sites before client:Client.__init__ -> client:Client.greet #1",
    "sites before client:Client.greet -> posix:write #1",
]
"""


def test_at_another_level_the_baseline_of_the_gate_names_the_cases(project: Project) -> None:
    project.write("client.py", "raise SystemExit('imported')")
    project.commit_matrix()
    project.write("matrices/client-Client.sites.baseline.toml", BASELINE)
    project.write("test_client.py", mark('"client:Client", level="sites"'))
    assert project.collect() == [
        "test_it[Client.__init__ Client.greet before OSError:EPIPE]",
        "test_it[Client.greet write before OSError:EPIPE]",
        "test_it[every fault point is in the committed baseline]",
    ]
    project.write(
        "test_client.py", mark('"client:Client", level="sites", names="write", faults="ValueError"')
    )
    assert project.collect()[0] == "test_it[Client.greet write before ValueError]"
    project.write("matrices/client-Client.sites.baseline.toml", BASELINE.replace("client:Client", "m:O", 1))
    _, output = project.look("--collect-only")
    assert "is of m:O at level sites, not of client:Client at level sites" in output


def test_the_cases_of_a_baseline_are_judged_and_what_it_lacks_is_told(project: Project) -> None:
    project.write("matrices/client-Client.sites.baseline.toml", BASELINE)
    arguments = '"client:Client", level="sites", release="close", repeats=1, phases="before"'
    project.write("test_client.py", mark(arguments))
    result = project.run()
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines_random(
        [
            "*client-Client.sites.baseline.toml lacks 1 fault point",
            "*write it anew with `faultinject gate --accept`",
        ]
    )


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        (["-k", "greet and before"], [CASES[2]]),
        (["-k", "pipe"], CASES[:2]),
        (["-m", "not faultinject"], []),
        (["test_client.py::" + CASES[3]], [CASES[3]]),
    ],
)
def test_a_case_is_chosen_as_any_test_is(project: Project, arguments: list[str], kept: list[str]) -> None:
    project.commit_matrix()
    project.write("test_client.py", MARKED)
    assert project.collect(*arguments) == kept


def test_a_budget_is_a_sample_that_its_seed_repeats(project: Project) -> None:
    project.commit_matrix()
    project.write("test_client.py", MARKED)
    first = project.collect("--faultinject-budget=2", "--faultinject-seed=1")
    assert first == project.collect("--faultinject-budget=2", "--faultinject-seed=1")
    assert len(set(first) & set(CASES)) == 2
    others = [project.collect("--faultinject-budget=2", f"--faultinject-seed={seed}") for seed in (2, 3, 4)]
    assert any(one != first for one in others)


def test_the_sample_of_a_budget_is_told_with_its_seed(project: Project) -> None:
    project.commit_matrix()
    project.write("test_client.py", MARKED)
    _, output = project.look("--collect-only", "--faultinject-budget=1", "--faultinject-seed=random")
    assert re.search(r"^test_client.py::test_gives_back: 1 of 4 cases, seed \d+$", output, re.M)


def test_the_command_line_comes_before_the_mark_and_the_mark_before_the_ini_file(project: Project) -> None:
    project.commit_matrix()
    project.write("pytest.ini", "[pytest]\nfaultinject_faults = OSError:EMFILE\n")
    project.write("test_client.py", mark('"client:Client", phases="before", names="greet"'))
    assert project.collect()[0] == "test_it[Client.__init__:8 Client.greet before OSError:EMFILE]"
    project.write("test_client.py", mark('"client:Client", faults=["ValueError"], names=["greet"]'))
    assert "ValueError" in project.collect()[0]
    assert "KeyError" in project.collect("--faultinject-faults=KeyError")[0]


def test_the_matrix_is_where_the_ini_file_says(project: Project) -> None:
    project.write("pytest.ini", "[pytest]\nfaultinject_matrices = kept/here\n")
    project.write("kept/here/client-Client.toml", MATRIX)
    project.write("test_client.py", MARKED)
    assert project.collect() == [*CASES, CHECK]


WRONG_MARKS = {
    '"client:Client", levle="steps"': "has no argument 'levle' (did you mean level?)",
    '"client:Client", level="step"': "unknown level 'step'",
    '"client:Client", faults="RuntimeErorr"': "RuntimeErorr",
    '"client:Client", jobs="many"': "Expected `int`, got `str`",
    '"client:Client", level="milestones"': "level milestones is of trees of processes",
    '"client:Client", "more"': "takes one argument without a name",
    "": "no target: name one in @pytest.mark.faultinject(target=...)",
    '"client:Client", names="nothing_like_it"': "nothing_like_it",
    '"client:Client", repeats=9': "Expected `int` <= 5",
    '"client:Client", repeats=0': "Expected `int` >= 1",
    '"client:Client", allow="leek"': "allow: 'leek' is no verdict (did you mean leak?)",
}


def test_a_wrong_mark_is_an_error_of_the_collection_in_one_line(project: Project) -> None:
    project.commit_matrix()
    for number, arguments in enumerate(WRONG_MARKS):
        project.write(f"test_client{number:02}.py", mark(arguments))
    status, output = project.look("--collect-only", "-q")
    assert status == pytest.ExitCode.INTERRUPTED
    lines = [line for line in output.splitlines() if "faultinject: test_it: " in line]
    assert len(lines) == len(WRONG_MARKS)
    assert [said for line, said in zip(lines, WRONG_MARKS.values(), strict=True) if said not in line] == []
    assert "Traceback" not in output


class Given:
    """A configuration with one setting."""

    rootpath = Path("/")

    def __init__(self, **given: str) -> None:
        self.given = given

    def getoption(self, name: str) -> str | None:
        return None

    def getini(self, name: str) -> str:
        return self.given.get(name, "")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("runner", "ray", "faultinject_runner is 'ray': choose one of"),
        ("budget", "some", "faultinject_budget is 'some': give a number of 0 or more"),
        ("time_limit", "-1", "faultinject_time_limit is '-1': give seconds"),
        ("baseline", "all", "faultinject_baseline is 'all': choose one of none, matrix, gate"),
        ("jobs", "-2", "faultinject_jobs is '-2'"),
        ("seed", "luck", "faultinject_seed is 'luck': give a number, or random"),
        ("seed", "--7", "faultinject_seed is '--7': give a number, or random"),
        ("budget", "9" * 5000, "give a number of 0 or more"),
        ("durations", "long", "faultinject_durations is 'long'"),
    ],
)
def test_a_wrong_setting_is_named_with_what_it_may_be(name: str, value: str, said: str) -> None:
    config: Any = Given(**{f"faultinject_{name}": value})
    with pytest.raises(UsageError, match=re.escape(said)):
        durations_of(config) if name == "durations" else settings_for(config, None)


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
@pytest.mark.parametrize(
    ("name", "value"),
    [("seed", "abc"), ("durations", "abc"), ("level", "step"), ("faults", "RuntimeErorr"), ("case", "first")],
)
def test_a_wrong_setting_ends_the_run_before_it_begins_in_one_line(
    project: Project, name: str, value: str, workers: tuple[str, ...]
) -> None:
    project.write("test_plain.py", "def test_plain():\n    pass\n")
    status, output = project.look(f"--faultinject-{name}={value}", *workers)
    assert status == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in output.splitlines() if line]
    assert line.startswith("ERROR: faultinject: ")
    assert value in line


OF_UNITTEST = """\
import unittest
import pytest

class Tests(unittest.TestCase):
    @pytest.mark.faultinject("client:Client")
    def test_it(self):
        pass
"""


def test_a_marked_method_of_a_testcase_is_an_error_of_the_collection(project: Project) -> None:
    project.write("test_client.py", OF_UNITTEST)
    status, output = project.look("-q")
    assert status == pytest.ExitCode.INTERRUPTED
    assert "faultinject: test_client.py::Tests::test_it: a method of a unittest.TestCase takes no" in output


def test_a_broken_matrix_is_named_with_its_file_and_key(project: Project) -> None:
    project.commit_matrix(MATRIX.replace("number = 1", 'number = "one"'))
    project.write("test_client.py", MARKED)
    _, output = project.look("--collect-only")
    assert "client-Client.toml: step row 1 (one): number: expected `int`, got `str`" in output


def test_suites_without_the_mark_load_nothing_of_the_plugin_but_its_module(project: Project) -> None:
    project.write(
        "test_plain.py",
        "import sys\n\ndef test_plain():\n"
        "    loaded = [name for name in sys.modules if name.startswith('faultinject')]\n"
        "    assert sorted(loaded) == ['faultinject', 'faultinject.pytest_plugin']\n"
        "    assert 'msgspec' not in sys.modules and 'rich' not in sys.modules\n",
    )
    assert project.run().ret == 0


def test_markers_and_options_are_documented_by_pytest_itself(project: Project) -> None:
    assert "@pytest.mark.faultinject(target, level, faults, ...)" in project.look("--markers")[1]
    _, text = project.look("--help")
    for (
        name
    ) in "level faults runner jobs time-limit matrices baseline budget seed durations cov case".split():
        assert f"--faultinject-{name}" in text


def test_the_client_is_what_the_matrix_says() -> None:
    lines = CLIENT.splitlines()
    assert "os.pipe()" in lines[6]
    assert "self.greet()" in lines[7]
