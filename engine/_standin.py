"""What stands for a class of vLLM's, or for what makes something, in one of its functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import starmap
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
    """Stands for a class: what is made of it is owned as soon as its constructor has come to its end.

    So it is not lost on the way from there to whoever is to have it, in functions that hand it on.

    Args:
        kind: the class.
        transaction: owns what is made.
        name: of the resource.
        release: how it is given back.
    """

    def __init__(
        self,
        kind: Any,
        transaction: OwnershipTransaction,
        name: str,
        release: Sequence[Callable[[Any], object]],
    ) -> None:
        super().__init__(kind)
        self._transaction = transaction
        self._name = name
        self._release = release

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        made = self._kind.__new__(self._kind)
        done: list[None] = []
        releases = tuple(functools.partial(_if_done, done, one) for one in self._release)
        self._transaction.own(self._name, made, release=releases)
        # No signal comes between its end and the record, as in `OwnershipTransaction.acquire`.
        done.extend(starmap(functools.partial(made.__init__, **kwargs), (args,)))
        return made


def _if_done(done: list[None], release: Callable[[Any], object], made: Any) -> None:
    if done:
        release(made)


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
