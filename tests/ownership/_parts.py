"""What the tests of the transaction construct, and how they look at what was released."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine import OwnershipTransaction


class Part:
    """Notes, in the list it was given, each release that is asked of it."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log

    def close(self) -> None:
        self.log.append(self.name)


def failing(*_: object) -> Any:
    """A constructor that fails."""
    raise ValueError("no part was made")


def raising(error: BaseException) -> Callable[[Any], None]:
    """A release that raises `error`."""

    def release(_: Any) -> None:
        raise error

    return release


def what(transaction: OwnershipTransaction) -> list[tuple[str, str]]:
    """What the transaction says happened, without the times."""
    return [(event.what, event.name) for event in transaction.record]


def rolled_back(transaction: OwnershipTransaction) -> None:
    """Roll back as a constructor does, outside of one."""
    _ = [*transaction.rollback()]
