"""What one command leaves for the next, in the directory it ran in."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from faultinject._writing import make_folder, make_private, replace_file
from faultinject.errors import UsageError

if TYPE_CHECKING:
    from faultinject.sweep import Options

STATE = Path(".faultinject")
GATE = STATE / "gate"


def last_report() -> Path | None:
    """Where the report of a sweep goes that no file was named for; None where nothing can be written."""
    return STATE / "last.json" if _made() else None


def gate_record(baseline: Path) -> Path | None:
    """Where it is kept what a gate has run, for a baseline; None as of `last_report`.

    Two projects may each have a target of one name; seen from here their baselines lie apart, on whatever
    machine this directory is.
    """
    import hashlib

    if not _made(GATE):
        return None
    where = os.path.relpath(baseline.parent).encode("utf-8", "surrogateescape")
    name = baseline.name.removesuffix(".baseline.toml")
    return GATE / f"{name}-{hashlib.sha256(where).hexdigest()[:8]}.json"


def remember(options: Options) -> None:
    """Keep the options of a sweep for `recalled`, if something can be written here."""
    import msgspec

    if _made():
        with contextlib.suppress(OSError):
            replace_file(STATE / "last-options.json", msgspec.json.encode(options))


def recalled() -> Options:
    """The options of the last sweep in this directory.

    Raises:
        UsageError: there was none, or what it left cannot be read.
    """
    import msgspec

    from faultinject._reading import TABLE_LIMIT, decode_json, lowered, read_bytes
    from faultinject.sweep import Options

    path = STATE / "last-options.json"
    if STATE.is_symlink():
        raise UsageError(f"nothing is kept in {STATE}: it is a symbolic link: give --target TARGET")
    if not path.exists():
        raise UsageError(f"no sweep was made in this directory ({path} is missing): give --target TARGET")
    try:
        return decode_json(read_bytes(path, "file of options", TABLE_LIMIT), Options)
    except (UsageError, msgspec.MsgspecError) as error:
        what = f"{path} cannot be read ({lowered(error)})"
        raise UsageError(f"{what}: give --target TARGET, or sweep again") from None


def _made(*within: Path) -> bool:
    """Whether the directory is there, and those within it, or could be made."""
    with contextlib.suppress(OSError):
        make_private(STATE)
        for folder in within:
            make_folder(folder)
        return True
    return False
