"""Files that are written as a whole: there as they were, or as they are to be, and nothing between."""

from __future__ import annotations

import contextlib
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Write a file in one step. A symbolic link at its place is replaced, never written through.

    Raises:
        OSError: it cannot be written; the file is as it was.
    """
    part = part_of(path)
    try:
        _create(part, data)
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def try_replacing(path: Path) -> None:
    """See that `replace_file` can work, and leave all as it is.

    Raises:
        OSError: it cannot.
    """
    if path.is_dir():
        raise IsADirectoryError("it is a directory")
    part = part_of(path)
    _create(part, b"")
    part.unlink()


def part_of(path: Path) -> Path:
    """What a file is written as until it is whole."""
    return path.with_name(f".{path.name}.part")


def make_folder(folder: Path) -> None:
    """See that a folder is there. A symbolic link to one is refused: what is written would be elsewhere.

    Raises:
        OSError: it cannot be made, or is a link.
    """
    if folder.is_symlink():
        raise NotADirectoryError("it is a symbolic link")
    folder.mkdir(exist_ok=True)


def make_private(folder: Path) -> None:
    """See that a folder is there of which nothing is for version control.

    Raises:
        OSError: as of `make_folder`.
    """
    make_folder(folder)
    with contextlib.suppress(FileExistsError), open(folder / ".gitignore", "x") as file:
        file.write("*\n")


def _create(part: Path, data: bytes) -> None:
    # What an earlier run left goes; a link that came with somebody's directory is not followed.
    part.unlink(missing_ok=True)
    with open(part, "xb") as file:
        file.write(data)
