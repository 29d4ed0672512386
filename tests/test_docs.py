"""Every command and every piece of code in README.md and docs/ is run, and does what the page says.

A page is read from top to bottom in a directory of its own. A comment before a block says what to do with it:

``<!-- in: examples/quickstart -->``  start with a copy of that directory
``<!-- file: name.py -->``            the block is the content of that file
``<!-- exit: 1 -->``                  what the commands of the block exit with, 0 where nothing is said
``<!-- engine -->``                   needs vLLM, and is run where that is installed

Of a ``console`` block, lines after ``$ command`` are its output, in that order; ``...`` stands for anything,
and runs of spaces and of rules for one. Python blocks that are no file are executed, TOML and JSON blocks are
read.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import typer.main

from faultinject.cli import app

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "benchmarks" / "README.md"])
NEWCOMERS = ("pip install tox && tox run -e compare", "pip install tox && tox run")
"""What continuous integration itself is: the only commands that are not run from here."""

OTHER_PLUGINS = ["-p", "no:randomly", "-p", "no:asyncio", "-p", "no:rerunfailures", "-p", "no:cacheprovider"]
"""Of the environment's, and not of the page's reader."""

_FENCE = re.compile(
    r"(?P<notes>(?:^<!--[^\n]*-->\n+)*)^(?P<fence>`{3,})(?P<language>\w*)\n(?P<text>.*?)^(?P=fence)$",
    re.M | re.S,
)
_NOTE = re.compile(r"<!--\s*(\w+)(?::\s*(.*?))?\s*-->")
_LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)?(#[^)\s]+)?\)")


@dataclass
class Block:
    language: str
    text: str
    line: int
    notes: dict[str, str] = field(default_factory=dict)


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in _FENCE.finditer(text):
        notes = {name: value or "" for name, value in _NOTE.findall(found["notes"])}
        line = text.count("\n", 0, found.start("fence")) + 1
        yield Block(found["language"], found["text"], line, notes)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_examples_of_a_page_do_what_it_says(page: Path, tmp_path: Path) -> None:
    run_page(page, tmp_path, engine=False)


@pytest.mark.engine
@pytest.mark.parametrize(
    "page", [p for p in PAGES if any("engine" in b.notes for b in blocks(p))], ids=name_of
)
@pytest.mark.timeout(1200)
def test_the_engine_examples_of_a_page_do_what_it_says(page: Path, tmp_path: Path) -> None:
    pytest.importorskip("vllm")
    run_page(page, tmp_path, engine=True)


def run_page(page: Path, directory: Path, *, engine: bool) -> None:
    for block in blocks(page):
        where = f"{name_of(page)}:{block.line}"
        if "in" in block.notes:
            shutil.copytree(
                ROOT / block.notes["in"], directory, dirs_exist_ok=True,
                ignore=shutil.ignore_patterns("__pycache__", ".faultinject"),
            )  # fmt: skip
        if "file" in block.notes:
            path = directory / block.notes["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        elif ("engine" in block.notes) != engine:
            continue
        elif block.language == "console":
            for command, expected in commands(block.text):
                check_command(where, command, expected, int(block.notes.get("exit", "0")), directory)
        elif block.language == "python":
            done = execute([sys.executable, "-c", block.text], directory)
            assert done.returncode == 0, f"{where}: {done.stdout}"
        elif block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "json":
            json.loads(block.text)


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    command, expected = "", []
    for line in text.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, expected
            command, expected = line[2:], []
        else:
            expected.append(line)
    if command:
        yield command, expected


def check_command(where: str, command: str, expected: list[str], status: int, directory: Path) -> None:
    words = shlex.split(command)
    programs = {
        "faultinject": [sys.executable, "-m", "faultinject"], "python": [sys.executable],
        "pytest": [sys.executable, "-m", "pytest", *OTHER_PLUGINS],
    }  # fmt: skip
    program = programs.get(words[0])
    assert program, f"{where}: {command!r} is no command that this test runs"
    done = execute([*program, *words[1:]], directory)
    assert done.returncode == status, f"{where}: {command!r} exits with {done.returncode}\n{done.stdout}"
    missing = first_missing(expected, done.stdout)
    assert missing is None, f"{where}: {command!r} does not print {missing!r}\n{done.stdout}"


def execute(command: list[str], directory: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ, "COLUMNS": "110", "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(directory)]),
    }  # fmt: skip
    # To a file: a pipe would be held open by whatever a command leaves behind.
    output = directory / ".output"
    with open(output, "w+") as file:
        done = subprocess.run(
            command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=file,
            stderr=subprocess.STDOUT, check=False, text=True,
        )  # fmt: skip
    text = output.read_text(errors="replace")
    output.unlink()
    return subprocess.CompletedProcess(command, done.returncode, text)


def first_missing(expected: list[str], output: str) -> str | None:
    """The first line of `expected` that does not come, in its order; after ``...`` any may come between."""
    lines = [plain(line) for line in output.splitlines() if plain(line)]
    place, skip = 0, True
    for wanted in map(plain, expected):
        if not wanted:
            continue
        if wanted == "...":
            skip = True
            continue
        while skip and place < len(lines) and not fits(wanted, lines[place]):
            place += 1
        if place >= len(lines) or not fits(wanted, lines[place]):
            return wanted
        place, skip = place + 1, False
    return None


def fits(wanted: str, line: str) -> bool:
    return re.fullmatch(".*".join(re.escape(part.strip()) for part in wanted.split("...")), line) is not None


def plain(line: str) -> str:
    return re.sub(r"─+", "─", re.sub(r"\s+", " ", line)).strip()


def test_output_is_compared_in_order_and_dots_stand_for_anything() -> None:
    output = "one\ntwo   2\nthree 17 s\nfour\n"
    assert first_missing(["one", "two 2", "three ... s", "four"], output) is None
    assert first_missing(["...", "two 2", "...", "four"], output) is None
    assert first_missing(["one", "three ... s"], output) == "three ... s"
    assert first_missing(["...", "four", "...", "one"], output) == "one"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for path, anchor in _LINK.findall(page.read_text()):
        if "://" in path:
            continue
        goal = (page.parent / path) if path else page
        assert goal.exists(), f"{name_of(page)}: {path}"
        if anchor:
            assert anchor[1:] in anchors(goal), f"{name_of(page)}: {path}{anchor}"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", page.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_has_the_two_commands_each_on_a_line_of_its_own() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    for command in NEWCOMERS:
        assert lines.count(command) == 1, command


@pytest.mark.parametrize("folder", ["docs", "benchmarks"])
def test_every_page_and_script_is_in_the_index_of_its_folder(folder: str) -> None:
    index = (ROOT / folder / "README.md").read_text()
    names = [
        p.name for p in (ROOT / folder).iterdir() if p.suffix in (".md", ".py") and p.name[0] not in "_R"
    ]
    assert [name for name in names if f"({name})" not in index] == []


def test_the_page_of_the_command_line_has_every_command_and_option() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text()
    sections = {
        title: body
        for title, body in re.findall(r"^## `faultinject (\w+)[^\n]*`\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    }
    group = typer.main.get_command(app)
    assert sections.keys() == group.commands.keys()  # type: ignore[attr-defined]
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        real = {
            option
            for p in command.params
            if p.param_type_name == "option"
            for option in [*p.opts, *p.secondary_opts]
        }
        shown = set(
            re.findall(r"`(-{1,2}[a-zA-Z][\w-]*)", "\n".join(re.findall(r"^\|[^|]*\|", sections[name], re.M)))
        )
        assert shown == real - {"--help", "-h"}, name


def test_the_tests_that_a_page_names_are_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / "docs" / "public-cases.md").read_text("utf-8"))
    assert len(named) > 30
    for path, name in named:
        assert f"\ndef {name}(" in (ROOT / path).read_text("utf-8"), f"{path} has no {name}"


def test_the_page_of_faults_has_every_fault() -> None:
    from faultinject.faults import describe

    text = (ROOT / "docs" / "faults.md").read_text()
    assert [entry.name for entry in describe() if f"| `{entry.name}` |" not in text] == []


def test_the_page_of_probes_has_every_probe_as_it_is() -> None:
    from faultinject.probes import load_probes

    rows = re.findall(r"^\| ([\w. ]+?) \| (\w+) \| (\w+) \|", (ROOT / "docs" / "probes.md").read_text(), re.M)
    assert {row for row in rows if row[1] in ("resource", "state")} == {
        (probe.name, probe.nature, probe.cost) for probe in load_probes(plugins=False)
    }


def test_the_page_of_verdicts_has_every_verdict_and_grade() -> None:
    from typing import get_args

    from faultinject.facts import Grade, Verdict

    text = (ROOT / "docs" / "verdicts.md").read_text()
    assert [v for v in get_args(Verdict) if f"## {v}\n" not in text] == []
    assert [g for g in get_args(Grade) if f"| `{g}` |" not in text] == []


def test_the_page_of_levels_has_every_level() -> None:
    from typing import get_args

    from faultinject.facts import Level
    from faultinject.tracking._levels import NTH_CAP, STEP_CAP

    text = (ROOT / "docs" / "levels-and-runners.md").read_text()
    assert [level for level in get_args(Level) if f"| `{level}` |" not in text] == []
    assert f"first {STEP_CAP} calls" in text
    assert f"first {NTH_CAP} calls" in text
