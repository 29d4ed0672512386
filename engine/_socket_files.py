"""Files of Unix sockets, which libzmq leaves where it bound them."""

from __future__ import annotations

import contextlib
import logging
import os

from engine import lifeline

_logger = logging.getLogger("engine")


def file_of(address: str) -> str:
    """The path of an address of the kind ``ipc:///path``; ``""`` for another."""
    return address.removeprefix("ipc://") if address.startswith("ipc:///") else ""


def expect_file(path: str) -> None:
    """Have the file of a socket removed that is about to be bound, if this process dies from now on."""
    try:
        lifeline.expect_socket(path)
    except FileExistsError:
        pass  # It is bound already, and somebody's.
    except (OSError, lifeline.LifelineError) as error:
        _logger.warning("%s may stay where it is if this process is killed: %s", path, error)


def own_file(path: str) -> None:
    """Have the file removed when this process dies, if it is there."""
    try:
        lifeline.own_name("socket", path)
    except (OSError, lifeline.LifelineError) as error:
        _logger.warning("%s may stay where it is if this process is killed: %s", path, error)


def remove_file(path: str) -> None:
    """Remove the file, if it is there still."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    with contextlib.suppress(lifeline.LifelineError):
        lifeline.disown_name("socket", path)
