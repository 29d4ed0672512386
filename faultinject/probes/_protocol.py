"""What a probe is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol, runtime_checkable

from faultinject.facts import Item

Nature = Literal["resource", "state"]
Cost = Literal["cheap", "costly"]


@runtime_checkable
class Probe(Protocol):
    """Observes one kind of resource, or one kind of process-wide state.

    Attributes:
        name: plural noun shown to users, such as ``"fds"``; unique.
        nature: ``resource`` (things that come and go: what is new is *left*, what is missing was
            *removed*) or ``state`` (values that must be as before).
        cost: ``cheap`` probes (well under 0.2 ms) are taken at every call of the target; ``costly``
            ones only before and after it.
        fork_visible: whether a forked copy of the process sees what the original saw. Threads and
            child processes are not.
        private: whether what it sees belongs to one process. Names in ``/dev/shm`` or on disk do
            not: a forked copy that removes one removes it for the original too.
    """

    name: str
    nature: Nature
    cost: Cost
    fork_visible: bool
    private: bool

    def unavailable(self) -> str | None:
        """Why this probe cannot look here (``"no GPU"``), or ``None`` if it can."""
        ...

    def snapshot(self) -> Mapping[str, Item]:
        """What is live now, by key. Must not change what it looks at, nor import a heavy module."""
        ...
