from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import pytest

from faultinject.errors import TargetError, UsageError
from faultinject.targets import Target, TargetSpec, resolve


def call(target: Target) -> Any:
    function, args, kwargs = target.prepare()
    return function(*args, **kwargs)


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("Plain", "Plain"),
        ("Child", "Child"),
        ("factory", "Plain"),
        ("Plain.build", "Plain"),
        ("Child.build", "Child"),
        ("Plain.method", "Plain"),
        ("Child.method", "Child"),
        ("Plain.Inner", "Inner"),
        ("Plain.free", "str"),
        ("Context.__enter__", "Context"),
        ("instance.__enter__", "Context"),
    ],
)
def test_any_kind_of_callable_is_found_and_called(project: Any, name: str, result: str) -> None:
    target = project.resolve(f"{project.module}:{name}")
    assert type(call(target)).__name__ == result
    assert not target.is_async
    assert target.name == f"{project.module}:{name}"


def test_a_method_gets_a_fresh_instance_for_every_construction(project: Any) -> None:
    target = project.resolve(f"{project.module}:Context.__enter__")
    made = sys.modules[project.module].Context.made
    first, second = call(target), call(target)
    assert first is not second
    assert sys.modules[project.module].Context.made == made + 2


def test_the_entry_of_a_ready_object_is_that_objects(project: Any) -> None:
    target = project.resolve(f"{project.module}:instance.__enter__")
    assert call(target) is call(target) is sys.modules[project.module].instance


@pytest.mark.parametrize("name", ["coroutine", "Context.__aenter__", "async_callable"])
def test_a_coroutine_function_is_told_apart(project: Any, name: str) -> None:
    target = project.resolve(f"{project.module}:{name}")
    assert target.is_async

    async def awaited() -> Any:
        return await call(target)

    assert asyncio.run(awaited()) is not None


def test_a_method_of_a_type_made_in_c_gets_an_instance(project: Any) -> None:
    with call(project.resolve("io:BytesIO.__enter__")) as buffer:
        assert buffer.write(b"x") == 1


def test_the_given_release_is_kept_and_none_is_made_up(project: Any) -> None:
    assert project.resolve(f"{project.module}:Plain").release == ""
    assert project.resolve(f"{project.module}:Plain", release="close").release == "close"


def test_the_directory_comes_first_on_the_path(project: Any) -> None:
    project.resolve(f"{project.module}:Plain")
    project.resolve(f"{project.module}:Child")
    assert sys.path[0] == str(project.directory)
    assert sys.path.count(str(project.directory)) == 1


@pytest.mark.parametrize(
    ("module", "version"),
    [("socket:socketpair", sys.version.split()[0]), ("psutil:Process", sys.modules.get("psutil"))],
)
def test_the_version_is_that_of_the_package(project: Any, module: str, version: Any) -> None:
    import psutil

    expected = version if isinstance(version, str) else psutil.__version__
    assert project.resolve(module).version == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("{m}:Plane", "did you mean Plain"),
        ("{m}:Plain.bild", "{m}:Plain has no 'bild' (did you mean build"),
        ("{m}:number", "is a int, which cannot be called"),
        ("{m}:Needs", "needs arguments (size, colour)"),
        ("{m}:Needs.__enter__", "Needs cannot be made without arguments"),
        ("{m}x:Plain", "no module '{m}x' can be imported (did you mean {m}"),
        ("{m}.inner:Plain", "no module '{m}.inner'"),
        ("jsom:loads", "did you mean json"),
        ("json.decoderr:JSONDecoder", "did you mean json.decoder"),
    ],
)
def test_a_name_that_cannot_be_a_target_is_refused_in_one_line(project: Any, name: str, text: str) -> None:
    name = name.format(m=project.module)
    with pytest.raises(TargetError) as caught:
        project.resolve(name)
    message = str(caught.value)
    assert text.format(m=project.module) in message
    assert name in message
    assert "\n" not in message
    assert caught.value.original == ""


@pytest.mark.parametrize(
    "name", ["json:", ":loads", "json:a b", "js on:loads", "json:loads:x", "json:.loads"]
)
def test_a_malformed_name_is_refused(project: Any, name: str) -> None:
    with pytest.raises(UsageError, match="module:callable"):
        project.resolve(name)


@pytest.mark.parametrize(
    ("body", "text", "original"),
    [
        ("def f(): pass\n1 / 0\n", "raised ZeroDivisionError", "1 / 0"),
        ("import no_such_thing_at_all\n", "raised ModuleNotFoundError", "import no_such_thing_at_all"),
        ("import sys\nsys.exit(3)\n", "raised SystemExit", "sys.exit(3)"),
        ("def f(:\n", "raised SyntaxError", "def f(:"),
    ],
)
def test_a_module_that_fails_keeps_its_own_traceback(
    project: Any, body: str, text: str, original: str
) -> None:
    module = project.write("broken", body)
    with pytest.raises(TargetError, match=text) as caught:
        project.resolve(f"{module}:f")
    assert original in caught.value.original
    assert "_callables.py" not in caught.value.original
    assert "importlib" not in caught.value.original


def test_ctrl_c_while_importing_is_not_swallowed(project: Any) -> None:
    module = project.write("interrupted", "raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        project.resolve(f"{module}:f")


def test_a_missing_directory_is_said(tmp_path: Any) -> None:
    with pytest.raises(TargetError, match="no directory"):
        resolve(TargetSpec("json:loads", directory=os.fspath(tmp_path / "absent")))
