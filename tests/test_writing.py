from __future__ import annotations

from pathlib import Path

import pytest

from faultinject._writing import make_private, part_of, replace_file, try_replacing


def test_a_file_is_replaced_as_a_whole_and_nothing_else_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    part_of(path).write_bytes(b"of a run that was killed")
    try_replacing(path)
    assert list(tmp_path.iterdir()) == []
    replace_file(path, b"one")
    try_replacing(path)
    assert path.read_bytes() == b"one"
    replace_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_replaced_is_told_and_stays(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for write in (try_replacing, lambda path: replace_file(path, b"x")):
        with pytest.raises(OSError, match="directory"):
            write(tmp_path / "folder")
        with pytest.raises(FileNotFoundError):
            write(tmp_path / "none" / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_private_folder_is_kept_out_of_version_control_and_a_link_is_not_written_through(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "private"
    make_private(folder)
    make_private(folder)
    assert (folder / ".gitignore").read_text() == "*\n"
    (folder / ".gitignore").unlink()
    (folder / ".gitignore").symlink_to(tmp_path / "away")
    make_private(folder)
    assert not (tmp_path / "away").exists()


def test_a_symbolic_link_in_the_place_of_a_private_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "private").symlink_to(tmp_path / "away")
    with pytest.raises(OSError, match="it is a symbolic link"):
        make_private(tmp_path / "private")
    assert list((tmp_path / "away").iterdir()) == []
