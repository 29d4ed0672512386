"""Whatever a process started ends when that process dies, however it dies and whatever they are doing.

A small guardian process watches them all and ends by SIGKILL the descendants of each that dies, within two
seconds; then it removes shared memory, sockets and files that the dead had made. Each armed process watches
its parent by a thread too, for the case that the guardian itself is killed. See ``docs/lifeline.md``.

Importing this changes nothing and starts nothing.
"""

from __future__ import annotations

from engine.lifeline._arm import arm
from engine.lifeline._children import child_environment, register_child, start
from engine.lifeline._errors import LifelineError
from engine.lifeline._multiprocessing import unwatch_multiprocessing, watch_multiprocessing
from engine.lifeline._names import Kind, disown_name, expect_socket, own_name

__all__ = [
    "Kind",
    "LifelineError",
    "arm",
    "child_environment",
    "disown_name",
    "expect_socket",
    "own_name",
    "register_child",
    "start",
    "unwatch_multiprocessing",
    "watch_multiprocessing",
]
