"""Objects that a step hands over, followed without keeping them alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass

from faultinject.facts import Acquisition
from faultinject.tracking._ledger import Entry, Path


@dataclass
class OwnedObject:
    """An object that a step handed to the target and that has, or may have, a release method."""

    name: str
    step: int
    identity: int
    reference: Callable[[], object] | None
    type_name: str
    module: str
    path: Path = ()
    """Whom it was handed to: the stack down to the frame that made the call."""

    def is_it(self, thing: object) -> bool:
        """Whether `thing` is the object; by its type and address where it cannot be referred to weakly."""
        if self.reference is not None:
            return self.reference() is thing
        return id(thing) == self.identity and type(thing).__qualname__ == self.type_name


def make_owned(name: str, step: int, product: object, path: Path = ()) -> OwnedObject | None:
    """Follow `product`, handed to the end of `path`; `None` for plain data."""
    kind = type(product)
    if kind.__module__ in ("builtins", "types"):
        return None
    try:
        reference: Callable[[], object] | None = weakref.ref(product)
    except TypeError:
        reference = None
    return OwnedObject(name, step, id(product), reference, kind.__qualname__, kind.__module__, path)


def acquisition_of(entry: Entry) -> Acquisition:
    """A ledger's entry as a plain value."""
    return Acquisition(entry.probe, entry.key, entry.item, entry.step, tuple(name for _, name in entry.path))
