"""Which frames are the target's own, beside the one that the tool calls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from types import CodeType, FrameType

from faultinject.tracking._names import frame_name, is_stdlib


class OwnNames:
    """Tells by its name whether a frame that an own frame calls is the target's own as well.

    A constructor has several frames of its own where it calls its base class's, or helpers written for it.
    Names alone do not make a frame own: every frame beneath it, down to the one that the tool calls, has to
    be own too. C functions in between have no frame and do not count.

    Args:
        globs: what ``module:qualname`` of a frame may be, as of `fnmatch`.
    """

    def __init__(self, globs: Sequence[str]) -> None:
        self.unused = {glob: re.compile(translate(glob)) for glob in globs}
        """Globs that have fitted nothing so far."""
        self.others: set[str] = set()
        """Names that no glob has fitted."""
        self._pattern = re.compile("|".join(translate(glob) for glob in globs))
        # By id: two equal code objects of different modules have different names. The code is kept, so that
        # its id stays its own.
        self._known: dict[int, tuple[CodeType, bool]] = {}

    def fit(self, frame: FrameType) -> bool:
        """Whether one of the globs fits the frame's name."""
        code = frame.f_code
        known = self._known.get(id(code))
        if known is not None:
            return known[1]
        name = frame_name(frame)
        fits = self._pattern.match(name) is not None
        if fits and self.unused:
            self.unused = {glob: p for glob, p in self.unused.items() if not p.match(name)}
        elif not fits:
            self.others.add(name)
        # A decorator's wrapper goes by what it wraps, which the same code does not tell.
        if "<locals>" not in code.co_qualname:
            self._known[id(code)] = (code, fits)
        return fits


class CalledDirectly(OwnNames):
    """The frames that a block of code calls itself are its own too, those of the standard library excepted.

    So ``Engine(config)`` in a test's block is swept as the constructor that it is.

    Args:
        frame: whose block it is.
        globs: further own frames, as of `OwnNames`.
    """

    def __init__(self, frame: FrameType, globs: Sequence[str] = ()) -> None:
        super().__init__(globs)
        self._frame = frame
        self._globs = bool(globs)

    def fit(self, frame: FrameType) -> bool:
        if frame.f_back is self._frame:
            module = frame.f_globals.get("__name__", "")
            return not (is_stdlib(module) or module.partition(".")[0] == "faultinject")
        return self._globs and super().fit(frame)
