"""What the file targets need; the targets themselves are the standard library's own classes."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile


def good_archive() -> str:
    """Path of a small archive that can be opened (row M39)."""
    return str(Path(__file__).with_name("hello.zip"))


def _make_archive() -> None:
    """How ``hello.zip`` was made."""
    with ZipFile(good_archive(), "w") as archive:
        archive.writestr("hello.txt", "hello\n")


if __name__ == "__main__":
    _make_archive()
