"""Files that may come from elsewhere, read as data: bounded, strict, each fault in one clear line.

A report, a matrix or a baseline may have been written by a stranger. Nothing in it is executed, nothing is
unpickled, and no file that it names is opened.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from faultinject._plain import plain
from faultinject.errors import UsageError

REPORT_LIMIT: Final = 256 << 20
"""Bytes of the largest report that is read. Every call site beneath vLLM's engine core makes one of 11 MB."""
TABLE_LIMIT: Final = 16 << 20
"""Bytes of the largest matrix, baseline or pyproject.toml that is read."""

_SHOWN: Final = 200
"""Characters of a library's own words that are passed on; they may quote the file."""
_DIGITS: Final = 20
"""Those of the largest number of 64 bits, and a sign."""
_DEPTH: Final = "is nested more deeply than any file of faultinject is"

T = TypeVar("T")


def read_bytes(path: Path, what: str, limit: int) -> bytes:
    """All of a file, if it is a plain one and no larger than it may be.

    Args:
        path: the file; a symbolic link is followed.
        what: the word for it in an error, such as ``report``.
        limit: bytes it may have.

    Raises:
        UsageError: it cannot be read, is a directory, a pipe or a device, or is too large.
    """
    try:
        # A pipe that nobody writes to would be waited for.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            status = os.fstat(fd)
            data = b""
            if stat.S_ISREG(status.st_mode) and status.st_size <= limit:
                # It may grow while it is read, so one byte more is asked for.
                with open(fd, "rb", closefd=False) as file:
                    data = file.read(limit + 1)
        finally:
            os.close(fd)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the {what} {place(path)}: {reason(error)}") from error
    if stat.S_ISDIR(status.st_mode):
        raise UsageError(f"cannot read the {what} {place(path)}: it is a directory: name the file in it")
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"cannot read the {what} {place(path)}: it is no plain file: copy it into one")
    if status.st_size > limit or len(data) > limit:
        raise UsageError(f"the {what} {place(path)} is larger than {limit >> 20} MiB: it is not read")
    return data


def read_toml(path: Path, what: str, limit: int = TABLE_LIMIT) -> dict[str, Any]:
    """The tables of a TOML file, unchecked. Arguments as of `read_bytes`.

    Raises:
        UsageError: as of `read_bytes`; or it is no TOML.
    """
    data = read_bytes(path, what, limit)
    try:
        return tomllib.loads(data.decode("utf-8"))
    except RecursionError:
        raise UsageError(f"{place(path)} {_DEPTH}: it is no {what}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{place(path)} is no TOML: {_no_utf8(data)}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{place(path)} is no TOML: {one_line(error)}") from None
    except ValueError:
        # CPython's own limit, https://docs.python.org/3/library/stdtypes.html#int-max-str-digits
        raise UsageError(f"{place(path)} is no TOML: a number in it has too many digits") from None


def read_table(path: Path, type: type[T], what: str, number: int, again: str) -> T:
    """The tables of a TOML file that faultinject writes, as a value of that type.

    Args:
        what: the word for the file in an error.
        number: the value that its key ``format`` must have.
        again: what to do about a file of another format.

    Raises:
        UsageError: no such file, no TOML, another format, an unknown key, or a wrong type; with file and key.
    """
    raw = read_toml(path, what)
    found = raw.get("format")
    if found != number or isinstance(found, bool):
        has = "has no format" if found is None else f"has format {quoted(found)}"
        raise UsageError(f"{place(path)}: format: {has}, this faultinject reads {number}: {again}")
    try:
        return convert(raw, type)
    except msgspec.ValidationError as error:
        raise UsageError(f"{place(path)}: {one_line(_explain(str(error), raw))}") from None


def _explain(message: str, raw: dict[str, object]) -> str:
    """Put the place first, as a person counts: ``owned row 2 (scheduler): step: expected ...``."""
    what, _, where = message.partition(" - at `$")
    what = what[:1].lower() + what[1:]
    parts = re.findall(r"\[(\d+)\]|\.(\w+)|\[\.\.\.\]", where.rstrip("`"))
    words: list[str] = []
    rows = raw
    for index, key in parts:
        if index and len(words) == 1:
            words[0] = f"{words[0]} row {int(index) + 1}{_title(rows, int(index))}"
        elif key:
            rows = raw.get(key, {}) if not words else rows  # type: ignore[assignment]
            words.append(key)
    return ": ".join([*words, what])


def _title(rows: object, index: int) -> str:
    row = rows[index] if isinstance(rows, list) and index < len(rows) else None
    title = row.get("name", row.get("number")) if isinstance(row, dict) else None
    return f" ({title})" if title is not None else ""


def decode_json(data: bytes, type: type[T]) -> T:
    """A value of that type from JSON; fields that the type does not know are passed over.

    Raises:
        msgspec.ValidationError: a field is missing or of the wrong type, an object has a key twice, or a
            number has more digits than any that is meant.
        msgspec.DecodeError: it is no whole JSON document, or is nested too deeply.
    """
    try:
        value = msgspec.json.decode(data, type=type)
        # msgspec takes the last of two values for one key, where another reader may take the first. What the
        # hooks return is not kept, so that a large file costs no second copy of itself.
        json.loads(data, object_pairs_hook=_refuse_repeated, parse_int=_refuse_endless, parse_float=len)
    except RecursionError:
        raise msgspec.DecodeError(f"it {_DEPTH}") from None
    except UnicodeError:
        raise msgspec.DecodeError(_no_utf8(data)) from None
    return value


def _no_utf8(data: bytes) -> str:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return f"it is no UTF-8 (byte {error.start})"
    return "it is no UTF-8"


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) == len(pairs):
        return
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise msgspec.ValidationError(f"an object has the key {quoted(key)} twice")
        seen.add(key)


def _refuse_endless(number: str) -> None:
    if len(number) > _DIGITS:
        raise msgspec.ValidationError(f"a number has {len(number):,} digits")


def convert(table: object, type: type[T]) -> T:
    """`msgspec.convert`, with every way in which it can fail as one.

    Raises:
        msgspec.ValidationError: a field is missing or of the wrong type, or it is nested too deeply.
    """
    try:
        return msgspec.convert(table, type)
    except RecursionError:
        raise msgspec.ValidationError(f"it {_DEPTH}") from None


def check_inside(path: Path, folder: Path, what: str) -> Path:
    """See that a path made from what a file says, or found in a folder, does not lead out of that folder.

    Args:
        path: with its symbolic links, which are followed.
        folder: where it has to stay.
        what: the word for it in an error.

    Returns:
        The path as it was given.

    Raises:
        UsageError: it leads out, or cannot be followed.
    """
    try:
        real, root = path.resolve(), folder.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"cannot follow the {what} {place(path)}: {reason(error)}") from error
    if not real.is_relative_to(root):
        raise UsageError(f"the {what} {place(path)} leads out of {place(folder)}: put the file itself there")
    return path


def check_ids(ids: Iterable[str], path: Path) -> None:
    """See that ids of cases are such: they stand in commands that people copy.

    Raises:
        UsageError: one is not.
    """
    for identifier in ids:
        if not re.fullmatch(r"[0-9a-f]{8,64}", identifier):
            raise UsageError(f"{place(path)}: {quoted(identifier)} is no id of a case: sweep again")


def one_line(error: object) -> str:
    """The words of a library, or of the system, on one line of bearable length."""
    return shown(str(error).split("\n", 1)[0])


def lowered(error: object) -> str:
    """The same, to stand within a sentence."""
    text = one_line(error)
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def reason(error: BaseException) -> str:
    """Why the system refused."""
    return one_line(getattr(error, "strerror", None) or error)


def shown(text: object) -> str:
    """Text from a file as it may stand in one line of a terminal: escaped, and cut where it is long."""
    words = str(text)
    return plain(words if len(words) <= _SHOWN else f"{words[:_SHOWN]}...")


def quoted(value: object) -> str:
    """The same in quotes, where it is text."""
    return shown(repr(value))


def place(path: Path) -> str:
    """A path as it may stand there."""
    return plain(str(path))
