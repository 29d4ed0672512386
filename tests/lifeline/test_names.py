"""What the dead have made is removed, if it is the very thing; what the living have, never."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.lifeline import disown_name, own_name
from engine.lifeline._guard._names import registry
from tests.lifeline._tree import Tree, all_end, tree


@pytest.fixture
def directory() -> Iterator[Path]:
    # Short: the path of a socket has room for 107 characters.
    with tempfile.TemporaryDirectory(prefix="ll") as made:
        yield Path(made)


def shm(name: str) -> Path:
    return Path("/dev/shm", name)


def test_the_names_of_the_dead_are_removed(trees: Tree, segment: str, directory: Path, watching: str) -> None:
    trees.run("naming", segment, str(directory))
    (parent,) = trees.wait("parent")
    assert shm(segment).exists()
    assert {path.name for path in directory.iterdir()} == {"s", "f"}
    parent.kill()
    trees.until(lambda: not shm(segment).exists() and not list(directory.iterdir()))


def test_a_socket_that_was_told_of_before_it_was_bound_is_removed(trees: Tree, directory: Path) -> None:
    trees.run("expecting", str(directory))
    assert trees.heard("parent") == "it is to be told of before it is made"
    (parent,) = trees.wait("parent")
    parent.kill()
    trees.until(lambda: not (directory / "bound").exists())
    # What is no socket was made by somebody else; what was there before, too.
    assert {path.name for path in directory.iterdir()} == {"never", "other's"}


def test_those_it_took_back_are_not(trees: Tree, segment: str, directory: Path) -> None:
    trees.run("naming", segment, str(directory), "disowns")
    parent, child = trees.wait("parent", "stranger")
    guardian = trees.guardian()
    parent.kill()
    assert all_end([child])
    assert guardian.ends_within(5)
    assert shm(segment).exists()
    assert {path.name for path in directory.iterdir()} == {"s", "f"}


def test_a_name_that_another_has_taken_since_is_left_to_it(
    trees: Tree, segment: str, directory: Path
) -> None:
    trees.run("naming", segment, str(directory))
    (parent,) = trees.wait("parent")
    guardian = trees.guardian()
    for path in (shm(segment), directory / "f", directory / "s"):
        path.unlink()
    shm(segment).write_text("ours")
    (directory / "f").write_text("ours")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(directory / "s"))
        parent.kill()
        assert guardian.ends_within(5)
        assert (directory / "s").exists()
    assert shm(segment).read_text() == (directory / "f").read_text() == "ours"


def test_they_are_removed_when_the_descendants_are_gone(trees: Tree, segment: str) -> None:
    trees.run("with_graceful", "orderly", segment)
    parent, child = trees.wait("parent", "graceful")
    parent.kill()
    assert trees.heard("graceful") == "there"
    assert all_end([child])
    trees.until(lambda: not shm(segment).exists())


def leave_a_list_behind(trees: Tree, segment: str, directory: Path, registry: Path) -> None:
    """A run whose guardian is killed too, so that nobody removes its names."""
    trees.run("naming", segment, str(directory), XDG_RUNTIME_DIR=str(registry))
    (parent,) = trees.wait("parent")
    guardian = trees.guardian()
    guardian.kill(signal.SIGSTOP)
    parent.kill()
    assert parent.ends_within(2)
    guardian.kill()
    assert guardian.ends_within(2)
    assert shm(segment).exists()


def test_what_a_dead_run_has_left_is_removed_at_the_next_start(
    trees: Tree, segment: str, directory: Path, tmp_path: Path
) -> None:
    leave_a_list_behind(trees, segment, directory, tmp_path)
    trees.run("starting_a_guardian", XDG_RUNTIME_DIR=str(tmp_path))
    trees.until(lambda: not shm(segment).exists())
    trees.until(lambda: not list(directory.iterdir()) and not list(tmp_path.iterdir()))


def test_but_not_what_another_has_taken_since(
    trees: Tree, segment: str, directory: Path, tmp_path: Path
) -> None:
    leave_a_list_behind(trees, segment, directory, tmp_path)
    for path in (shm(segment), directory / "s"):
        path.unlink()
    shm(segment).write_text("ours")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(directory / "s"))
        listening.listen()
        trees.run("starting_a_guardian", XDG_RUNTIME_DIR=str(tmp_path))
        trees.until(lambda: not list(tmp_path.iterdir()))
        assert (directory / "s").exists()
    assert shm(segment).read_text() == "ours"
    assert not (directory / "f").exists()


def test_nor_those_of_a_living_run_whose_guardian_was_killed(
    trees: Tree, segment: str, directory: Path, tmp_path: Path
) -> None:
    trees.run("naming", segment, str(directory), XDG_RUNTIME_DIR=str(tmp_path))
    (parent,) = trees.wait("parent")
    guardian = trees.guardian()
    guardian.kill()
    assert guardian.ends_within(2)
    for living in (True, False):
        with tree() as later:
            later.run("starting_a_guardian", XDG_RUNTIME_DIR=str(tmp_path))
            later.heard("ticket")
        assert shm(segment).exists() == living
        assert {path.name for path in directory.iterdir()} == ({"s", "f"} if living else set())
        parent.kill()
        assert parent.ends_within(2)


def test_the_lists_are_this_users_alone_and_go_with_their_guardian(
    trees: Tree, segment: str, directory: Path, tmp_path: Path
) -> None:
    trees.run("naming", segment, str(directory), XDG_RUNTIME_DIR=str(tmp_path))
    (parent,) = trees.wait("parent")
    (made,) = tmp_path.iterdir()
    assert made.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in made.iterdir()] == [0o600]
    guardian = trees.guardian()
    parent.kill()
    assert guardian.ends_within(5)
    assert not list(tmp_path.iterdir())


def test_a_directory_that_others_can_enter_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for place in (first, second):
        place.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(first))
    monkeypatch.setenv("TMPDIR", str(second))
    name = f"engine-lifeline-{os.geteuid()}"
    assert registry(make=True) == str(first / name)
    (first / name).chmod(0o755)
    assert registry(make=True) == str(second / name)
    (second / name).rmdir()
    (second / name).symlink_to(first)
    assert registry(make=True) == f"/tmp/{name}"
    Path("/tmp", name).rmdir() if not os.listdir(f"/tmp/{name}") else None


def test_a_name_is_told_of_after_it_was_made() -> None:
    with pytest.raises(FileNotFoundError):
        own_name("shared_memory", "nothing-of-that-name")


def test_what_is_no_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="none of shared_memory, socket, file"):
        own_name("pipe", "x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="none of"):
        disown_name("pipe", "x")  # type: ignore[arg-type]


def test_taking_back_what_was_never_told_does_nothing() -> None:
    disown_name("file", "/nothing/of/that/name")
