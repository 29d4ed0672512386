"""The group of a thing: its name without the parts that differ from run to run."""

from __future__ import annotations

import functools
import re

_UUID = re.compile(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")
# Names that the standard library draws: tempfile's default prefix, multiprocessing's blocks and semaphores.
_DRAWN = re.compile(r"(?<![0-9A-Za-z])(tmp|psm_|pymp-|mp-|wnsm_)[a-z0-9_]{4,}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?=[0-9a-f]*[0-9])[0-9a-f]{8,}(?![0-9A-Za-z])")
_DIGITS = re.compile(r"\d+")
# tempfile ends a name's stem in eight characters of this set, after a prefix of the caller's choice.
_TEMPFILE = re.compile(r"[a-z0-9_]{8}(?=(?:\.[A-Za-z0-9.]*)?$)")
_NUMBERED = re.compile(r"^(\w+):\[\d+\]$")
DELETED = " (deleted)"


def printable(text: str) -> str:
    """`text` with the bytes that were no UTF-8 spelled out, so that a report can hold it."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


@functools.lru_cache(maxsize=4096)
def name_group(name: str) -> str:
    """`name` with its numbers as ``#``, what was drawn at random as ``*``: ``Thread-3`` is ``Thread-#``."""
    name = _UUID.sub("*", name)
    name = _DRAWN.sub(r"\1*", name)
    name = _HEX.sub("*", name)
    return _DIGITS.sub("#", name)


@functools.lru_cache(maxsize=4096)
def path_group(path: str, temporary: str = "/tmp") -> str:
    """The group of a path.

    Args:
        path: absolute path, a trailing ``" (deleted)"`` allowed.
        temporary: directory of temporary files. Directly in it, eight last characters that tempfile
            could have drawn are taken to be drawn: one group too wide does less harm than two groups
            for one thing.
    """
    suffix = ""
    if path.endswith(DELETED):
        path, suffix = path[: -len(DELETED)], DELETED
    root = temporary.rstrip("/") + "/"
    if path.startswith(root):
        first, slash, rest = path[len(root) :].partition("/")
        plain = name_group(first)
        first = plain if "*" in plain else name_group(_TEMPFILE.sub("*", first))
        return name_group(root) + first + slash + name_group(rest) + suffix
    return name_group(path) + suffix


def link_group(link: str, temporary: str = "/tmp") -> str:
    """The group of what a descriptor points to, as ``readlink`` of ``/proc/self/fd/N`` tells it."""
    if link.startswith("/memfd:"):
        return name_group(link[1:].removesuffix(DELETED))
    if link.startswith("/"):
        return path_group(link, temporary)
    if link.startswith("anon_inode:"):
        return link.removeprefix("anon_inode:").strip("[]")
    numbered = _NUMBERED.match(link)
    return numbered.group(1) if numbered else name_group(link)
