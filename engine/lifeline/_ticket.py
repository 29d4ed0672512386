"""How a process reaches its tree's guardian, and whose child it is: what a parent hands to its children."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, replace

from engine.lifeline._errors import LifelineError
from engine.lifeline._guard._proc import Identity, identity, namespace
from engine.lifeline._guard._wire import VARIABLE


@dataclass(frozen=True)
class Ticket:
    """What a child has to know.

    Attributes:
        address: of the guardian, in the abstract namespace of Unix sockets: it needs no directory, and goes
            with the guardian.
        namespace: in which pids are meant.
        secret: without it the guardian does nothing.
        owner: the process that made the ticket: the parent of whom it is given to.
    """

    address: str
    namespace: str
    secret: str
    owner: Identity

    def __str__(self) -> str:
        return ",".join([self.address, self.namespace, self.secret, *map(str, self.owner)])

    def of(self, owner: Identity) -> Ticket:
        """The same tree's, of another process."""
        return replace(self, owner=owner)


def new_ticket() -> Ticket:
    """A tree of one's own."""
    return Ticket(f"engine-lifeline-{secrets.token_hex(8)}", namespace(), secrets.token_hex(16), myself())


def read_ticket(text: str) -> Ticket | None:
    """The ticket in a text, or ``None`` if there is none that means anything to this process."""
    parts = text.split(",")
    if len(parts) != 5 or parts[1] != namespace() or not (parts[3].isdigit() and parts[4].isdigit()):
        return None
    return Ticket(parts[0], parts[1], parts[2], (int(parts[3]), int(parts[4])))


def inherited_ticket() -> Ticket | None:
    """The ticket in this process's environment, if there is one."""
    return read_ticket(os.environ.get(VARIABLE, ""))


def myself() -> Identity:
    """This process.

    Raises:
        LifelineError: there is no ``/proc`` to read it from, or no descriptor left.
    """
    try:
        found = identity(os.getpid())
    except OSError as error:
        raise LifelineError(f"this process's start time cannot be read: {error}") from error
    if found is None:
        raise LifelineError("a lifeline needs Linux's /proc")
    return found
