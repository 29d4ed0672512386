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


class Making(Standin):
    """Stands for a class: what is made of it is owned before its constructor begins.

    So it is not lost between the end of the constructor and whoever is to have it. It is released only if its
    constructor came to its end, which a hardened one tells by `constructed` before it returns.

    Args:
        kind: the class.
        transaction: owns what is made.
        name: of the resource.
        release: how it is given back.
    """

    def __init__(
        self, kind: Any, transaction: OwnershipTransaction, name: str, release: Sequence[Release]
    ) -> None:
        super().__init__(kind)
        self._transaction = transaction
        self._name = name
        self._release = tuple(_if_constructed(one) for one in release)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        made = self._kind.__new__(self._kind)
        self._transaction.own(self._name, made, release=self._release)
        made.__init__(*args, **kwargs)
        vars(made)[_CONSTRUCTED] = True
        return made


def constructed(thing: Any, transaction: OwnershipTransaction) -> None:
    """Mark what a constructor makes, for as long as its transaction is not rolled back."""
    transaction.own("mark", thing, release=_unmark)
    vars(thing)[_CONSTRUCTED] = True


_CONSTRUCTED = "_constructed_to_its_end"


def _unmark(thing: Any) -> None:
    vars(thing).pop(_CONSTRUCTED, None)


def _if_constructed(release: Release) -> Callable[[Any], object]:
    def give_back(thing: Any) -> None:
        if vars(thing).get(_CONSTRUCTED):
            if isinstance(release, str):
                getattr(thing, release)()
            else:
                release(thing)

    return give_back


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
