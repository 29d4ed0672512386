from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from faultinject.facts import Point
from faultinject.gate._sources import Sources

TEXT = "class C:\n    def __init__(self):\n        self.help()\n\n    def help(self):\n        return [1]\n"


@pytest.fixture
def point(tmp_path: Path) -> Point:
    (tmp_path / "mod.py").write_text(TEXT)
    return Point("steps", "before", "mod:C.__init__", "mod:C.help", 1, file=str(tmp_path / "mod.py"), line=3)


def digest(point: Point) -> str:
    return Sources(Path(point.file).parent).digest(point)


def changed(point: Point, text: str) -> bool:
    before = digest(point)
    Path(point.file).write_text(text)
    return digest(point) != before


def test_an_edit_of_the_code_that_calls_or_is_called_is_seen(point: Point) -> None:
    assert changed(point, TEXT.replace("[1]", "[2]"))
    assert changed(point, TEXT.replace("self.help()", "self.help(); len('')"))


def test_an_edit_elsewhere_is_not(point: Point) -> None:
    assert not changed(point, "# a line more\n\n" + TEXT.replace("[1]", "[1]  # one"))
    assert not changed(point, TEXT + "\n\ndef other():\n    pass\n")


def test_a_function_within_a_function_and_a_lambda_are_found_in_what_holds_them(point: Point) -> None:
    for name in ("mod:C.help.<locals>.<lambda>", "mod:C.help.<locals>.inner"):
        inner = msgspec.structs.replace(point, caller=name, callee="posix:pipe")
        assert changed(inner, TEXT.replace("[1]", f"[{len(name)}]"))
        Path(point.file).write_text(TEXT)


def test_a_package_of_the_project_is_found_by_its_name(point: Point, tmp_path: Path) -> None:
    package = tmp_path / "src" / "pack"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("def make():\n    return 1\n")
    outside = msgspec.structs.replace(point, callee="pack:make")
    before = digest(outside)
    (package / "__init__.py").write_text("def make():\n    return 2\n")
    assert digest(outside) != before


@pytest.mark.parametrize("text", ["def broken(:\n", "x = '\0'\n", "(" * 5000])
def test_what_cannot_be_read_has_no_digest_and_is_no_error(point: Point, text: str) -> None:
    Path(point.file).write_text(text)
    assert digest(point) == digest(
        msgspec.structs.replace(point, caller="builtins:x", callee="builtins:y", file="")
    )
