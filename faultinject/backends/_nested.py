"""The hook of `sys.setprofile` for a target that has more than one frame of its own."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

from faultinject.backends._protocol import Listener

Hook = Callable[[FrameType, str, Any], None]


def make_nested_hook(listener: Listener, full: Hook) -> Hook:
    """A hook that only counts what happens beneath the calls of own frames, however deep those lie.

    Args:
        full: is told of the own frames and of each call they make.
    """
    beneath = 0
    is_root, at_own = listener.is_root, listener.at_own

    def hook(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal beneath
        if event == "call":
            if beneath:
                beneath += 1
            elif at_own() or is_root(frame):
                full(frame, event, arg)
                beneath = 0 if at_own() else 1
        elif event == "return":
            if beneath > 1:
                beneath -= 1
            elif beneath or at_own():
                beneath = 0
                full(frame, event, arg)
        elif not beneath and at_own():
            full(frame, event, arg)

    return hook
