"""Starting the guardian."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

from engine.lifeline._errors import LifelineError
from engine.lifeline._guard._wire import VARIABLE, pack
from engine.lifeline._ticket import Ticket

PROGRAM = Path(__file__).with_name("_guard")
READY_S = 10.0
"""Seconds a guardian may take to say that it listens; 0.03 are usual."""


def start_guardian(ticket: Ticket) -> None:
    """Start a guardian at the ticket's address, and wait until it listens; one that does already is kept.

    It is in a session of its own and nobody's child: not ended with a process group, nor found among the
    children of this process.

    Raises:
        LifelineError: it did not start.
    """
    import subprocess

    # A ticket in its environment would make it one of those that end with their owner.
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    said = b""
    try:
        process = subprocess.Popen(
            [_interpreter(), "-I", "-S", str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd="/", env=environment, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise LifelineError(f"the guardian does not start: {error}") from error
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with process.stdin as text:
                text.write(pack(ticket.address, ticket.secret))
            poll = select.poll()
            poll.register(process.stdout.fileno(), select.POLLIN)
            if poll.poll(READY_S * 1000):
                said = os.read(process.stdout.fileno(), 4096)
        except OSError as error:
            process.kill()
            raise LifelineError(f"the guardian does not start: {error}") from error
    if said not in (b"ready", b"taken"):
        raise LifelineError(
            f"the guardian does not start: {said.decode(errors='replace') or 'it says nothing'}"
        )


def _interpreter() -> str:
    spawn = sys.modules.get("multiprocessing.spawn")
    chosen = spawn.get_executable() if spawn is not None else sys.executable
    if not chosen:
        raise LifelineError("there is no Python interpreter to run the guardian with")
    return os.fsdecode(chosen)
