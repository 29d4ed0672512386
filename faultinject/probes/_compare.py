"""Whether a piece of state is as before."""

from __future__ import annotations

from typing import Protocol

from faultinject.facts import Item
from faultinject.probes._protocol import Probe

_plugins: dict[str, Probe] = {}
_own: dict[str, Probe] = {}


class Compares(Protocol):
    """What a state probe may have besides: a comparison of its own. The others are compared by value."""

    def compare(self, key: str, before: Item | None, after: Item | None) -> bool:
        """Whether the change of `key` counts. ``None`` stands for a key that was not there."""
        ...


def remember(probe: Probe) -> None:
    """Lets `state_changed` find a plugin's probe by its name."""
    _plugins[probe.name] = probe


def values_differ(before: Item | None, after: Item | None) -> bool:
    """Compares two items by value only; a key that came or went differs."""
    if before is None or after is None:
        return before is not after
    return before.value != after.value


def state_changed(probe: str | Probe, key: str, before: Item | None, after: Item | None) -> bool:
    """Whether the state `key` of a probe changed in a way that counts.

    Args:
        probe: the probe, or its name. A name that no probe has is compared by value.
        key: the probe's key.
        before: what was seen first, ``None`` where the key was not there.
        after: what was seen later, ``None`` where the key is gone.
    """
    if before is after:
        return False
    found = _find(probe) if isinstance(probe, str) else probe
    compare = getattr(found, "compare", None)
    return values_differ(before, after) if compare is None else bool(compare(key, before, after))


def _find(name: str) -> Probe | None:
    if not _own:
        # The probes with a comparison of their own import this module.
        from faultinject.probes._registry import BUILT_IN

        _own.update((kind.name, kind()) for kind in BUILT_IN)
    return _own.get(name) or _plugins.get(name)
