"""TOML, as far as the files that are kept need it.

By hand: the grammar is small, and the layout (keys in the order in which they are given, one a line) is what
keeps the differences between two versions of a file small.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping


class Lines(list[str]):
    """Texts that are written one a line, so that a change of one is a change of one line."""


def toml_lines(values: Mapping[str, object]) -> str:
    """Keys and values, one a line: text, numbers, truth, dates, lists, and tables within a line."""
    return "".join(f"{key} = {_value(value)}\n" for key, value in values.items())


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, Lines) and value:
        return "[\n" + "".join(f"    {_string(text)},\n" for text in value) + "]"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(k)} = {_value(v)}' for k, v in value.items())} }}"
    raise TypeError(f"no TOML for {value!r}")


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _string(key)


def _string(text: str) -> str:
    # A JSON string is a TOML basic string but for two things: TOML also forbids a bare DEL, and an escaped
    # surrogate is no TOML character.
    clean = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return json.dumps(clean, ensure_ascii=False).replace("\x7f", "\\u007f")


def comment(text: str) -> str:
    """Text that a comment can hold."""
    return "".join(c if c.isprintable() else "?" for c in text)
