"""The garbage collector as it was: freeze, callbacks, switch and thresholds.

CPython knows one permanent generation for the whole process: `gc.freeze` moves everything into it and
`gc.unfreeze` everything out of it, whoever had put it there. A caller may have frozen its own heap before it
constructs an engine (a server does so before it forks), and then a bare ``gc.unfreeze()`` in a rollback
takes that from it. The decision here: what the caller had frozen is frozen again, and nothing else is. To
that end what was *not* frozen is listed before the first freeze of the construction, taken out of the
collector's sight for the moment of the new freeze, and given back to it.
"""

from __future__ import annotations

import ctypes
import gc
from collections import deque
from collections.abc import Iterable
from itertools import filterfalse
from typing import Any

# Made here, since ctypes keeps what it makes of them: made between two looks, it would be frozen for good.
_untrack, _track = ctypes.pythonapi.PyObject_GC_UnTrack, ctypes.pythonapi.PyObject_GC_Track
_untrack.argtypes = _track.argtypes = (ctypes.py_object,)
_untrack.restype = _track.restype = None

_boxed = ctypes.py_object
"""Around an argument: bare, an object is asked for its ``__class__``, and one of torch's warns when it is."""


class GcState:
    """The collector's state at the start of a construction, and the way back to it.

    `restore` compares before it acts: where nothing was changed it does nothing, so it may be owned before
    anything is.
    """

    def __init__(self) -> None:
        self.frozen = gc.get_freeze_count()
        self.enabled = gc.isenabled()
        self.threshold = gc.get_threshold()
        self.callbacks = list(gc.callbacks)
        self._young: list[Any] = []

    def before_freeze(self) -> None:
        """To be called right before the construction freezes: lists what the caller had not frozen.

        Costs nothing unless the caller had frozen objects: 30 ms for each million of the others then.
        """
        if self.frozen:
            self._young = gc.get_objects()

    def before_unfreeze(self) -> None:
        """To be called before any release of a rollback: some unfreeze, as that of a vLLM worker does."""
        if self.frozen:
            # Those listed before are frozen now and not among these, which came since.
            self._young += gc.get_objects()

    def restore(self) -> None:
        """Put back what is not as it was."""
        if self.frozen == 0:
            gc.unfreeze()
        elif gc.get_freeze_count() != self.frozen:
            # What came since, such as the transaction's record, is in the younger generations: gc.unfreeze
            # puts what it takes out into the oldest.
            _freeze_all_but(self._young + gc.get_objects(0) + gc.get_objects(1))
        # Emptied, since it is among what it lists: that circle would keep all of it. Not before: a list made
        # now would be frozen with the rest.
        self._young.clear()
        for callback in [one for one in gc.callbacks if not _is_in(one, self.callbacks)]:
            if _is_of_vllm(callback):
                gc.callbacks.remove(callback)
        if gc.isenabled() != self.enabled:
            (gc.enable if self.enabled else gc.disable)()
        if gc.get_threshold() != self.threshold:
            gc.set_threshold(*self.threshold)


def _is_in(thing: object, things: Iterable[object]) -> bool:
    return any(one is thing for one in things)


def _is_of_vllm(callback: object) -> bool:
    """Another thread's callback, added meanwhile, is none of this construction's."""
    return str(getattr(callback, "__module__", "")).partition(".")[0] == "vllm"


def _freeze_all_but(young: list[Any]) -> None:
    """Freeze everything that the collector tracks, except for `young`, frozen until now or not.

    Rests on https://docs.python.org/3/c-api/gcsupport.html: PyObject_GC_UnTrack may be called on an object
    that is not tracked, PyObject_GC_Track only on one that is not. Each is called with the GIL held. A
    collection meanwhile takes what it does not see for referred to from outside, and frees nothing of it.
    """
    # Without a loop of Python's: there may be a million.
    hidden = list(filter(gc.is_tracked, young))
    try:
        deque(map(_untrack, map(_boxed, hidden)), 0)
        gc.freeze()
    finally:
        deque(map(_track, map(_boxed, filterfalse(gc.is_tracked, hidden))), 0)
