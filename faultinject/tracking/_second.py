"""The release that a second fault waits for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType

from faultinject.facts import Phase
from faultinject.tracking._objects import OwnedObject


@dataclass
class AwaitedRelease:
    """One release of the clean-up, at which a second fault comes.

    Args:
        name: of what is owned.
        release: the method that gives it back, or the function where no object stands for it.
        phase: ``before``: in place of the release. ``after``: out of it, its work done.
        strike: raises, sends a signal, or never comes back. It must not keep an exception in a variable.
        by_function: whether `release` is a function, as ``gc.unfreeze``.
        objects: what is owned under that name although its release is not judged by being called: objects of
            the standard library.
    """

    name: str
    release: str
    phase: Phase
    strike: Callable[[], None]
    by_function: bool = False
    objects: list[OwnedObject] = field(default_factory=list)
    reached: bool = False
    """Whether the release was called, and the fault has come."""
    before_strike: Callable[[FrameType], None] = lambda frame: None
    """Called just before, so that hearing goes on after the raise."""

    def is_it(self, name: str, method: str) -> bool:
        """Whether the release of `name` by `method` is still awaited."""
        return not self.reached and self.release == method and self.name == name

    def is_function(self, callee: str) -> bool:
        """Whether the function of that short name is still awaited."""
        return self.by_function and not self.reached and self.release == callee

    def holds(self, thing: object) -> bool:
        """Whether `thing` is one of `objects`."""
        return any(one.is_it(thing) for one in self.objects)
