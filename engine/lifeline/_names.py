"""Names that this process makes, and that the guardian removes if it dies with them."""

from __future__ import annotations

import os
from typing import Literal, get_args

from engine.lifeline._errors import LifelineError
from engine.lifeline._link import current_link

Kind = Literal["shared_memory", "socket", "file"]
"""A segment by its name in ``/dev/shm``, with or without a slash before it; others by their path."""


def own_name(kind: Kind, name: str) -> None:
    """Have what this process has just made removed when it dies without having called `disown_name`.

    It is removed after all descendants of this process are gone, and only if it is still the very one: what
    another has put in its place stays.

    Args:
        kind: ``shared_memory``, ``socket`` or ``file``.
        name: of the segment, or the path.

    Raises:
        ValueError: there is no such kind.
        FileNotFoundError: there is no such name: it is to be told of after it was made.
        LifelineError: there is no guardian and none starts, or it refuses.
    """
    path = _path(kind, name)
    seen = os.lstat(path)
    link = current_link()
    link.known.names[path] = (kind, seen.st_dev, seen.st_ino)
    link.ask("own", kind, path, seen.st_dev, seen.st_ino)


def expect_socket(path: str) -> None:
    """Have a socket removed that this process is about to bind, when it dies from now on.

    For a path that nobody else can come by, such as one with a UUID: until `own_name` has told which file it
    is, any socket of this user's that is there counts as the one. Otherwise as `own_name`.

    Args:
        path: of the socket.

    Raises:
        FileExistsError: there is something already.
        LifelineError: there is no guardian and none starts, or it refuses.
    """
    path = _path("socket", path)
    if os.path.lexists(path):
        raise FileExistsError(f"{path} is there already: it is to be told of before it is made")
    link = current_link()
    link.known.names[path] = ("socket", 0, 0)
    link.ask("own", "socket", path, 0, 0)


def disown_name(kind: Kind, name: str) -> None:
    """Take back `own_name`: this process has removed it, or somebody else is to keep it.

    Nothing happens if it is not known.

    Args:
        kind: as given to `own_name`.
        name: likewise.

    Raises:
        ValueError: there is no such kind.
        LifelineError: the guardian does not answer.
    """
    path = _path(kind, name)
    link = current_link()
    if link.known.names.pop(path, None) is not None:
        link.ask("disown", path, start=False)


def _path(kind: Kind, name: str) -> str:
    if kind not in get_args(Kind):
        raise ValueError(f"{kind!r} is none of {', '.join(get_args(Kind))}")
    if kind == "shared_memory":
        return f"/dev/shm/{name.removeprefix('/')}"
    if "\0" in name:
        raise LifelineError("a path with a NUL in it")
    return os.path.abspath(name)
