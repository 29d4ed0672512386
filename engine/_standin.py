"""What stands for a class of vLLM's, or for what makes something, in one of its functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine._transaction import OwnershipTransaction, Release


class Standin:
    """Stands for a class in a function of vLLM's, with some of its names replaced."""

    def __init__(self, kind: Any, **own: Any) -> None:
        self._kind = kind
        vars(self).update(own)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._kind(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kind, name)


def recording(
    transaction: OwnershipTransaction,
    name: str,
    make: Callable[..., Any],
    release: Release | Sequence[Release],
) -> Callable[..., Any]:
    """Stands for what makes a resource: it is owned from the moment at which that returns."""

    def making(*args: Any, **kwargs: Any) -> Any:
        return transaction.acquire(name, make, *args, release=release, keywords=kwargs)

    return making
