"""What a signal's handler raises where nothing can come out, and CPython goes on without it: raised again.

Such are the hooks of ``os.fork`` (`logging` has some), finalizers and callbacks of weak references. What is
raised there is printed, and dropped (https://docs.python.org/3/library/sys.html#sys.unraisablehook). A
process that was asked to end just when it started another would never hear of it.
"""

from __future__ import annotations

import _thread
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

_SOON = 0.02
"""Seconds until it is raised again: by then what lost it, such as the start of a process, has ended."""

_again: Callable[[], int] | None = None


def raise_again(asked: Callable[[], int]) -> None:
    """From now on, a `SystemExit` that is lost in the main thread has its signal sent to this process again.

    For a process whose own handlers raise it. In place of what was asked for before, in a parent say.

    Args:
        asked: called when one is lost; the number of the signal, or 0 where it is not to be raised again.
    """
    global _again
    if _again is None:
        plain = sys.unraisablehook
        sys.unraisablehook = lambda lost: _hook(plain, lost)
    _again = asked


def _hook(plain: Callable[[Any], object], lost: Any) -> None:
    plain(lost)
    main = threading.current_thread() is threading.main_thread()
    if main and isinstance(lost.exc_value, SystemExit) and _again is not None:
        number = _again()
        if number:
            # Not here: it would be lost once more.
            _thread.start_new_thread(_send, (os.getpid(), number))


def _send(process: int, number: int) -> None:
    time.sleep(_SOON)
    os.kill(process, number)
