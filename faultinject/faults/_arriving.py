"""A real signal that arrives between two instructions."""

from __future__ import annotations

import functools
from collections import defaultdict

Arriving = dict[str, int]
"""Looking up a key that it does not hold sends the signal."""


def arriving(number: int) -> Arriving:
    """What sends signal `number` to the calling thread when a missing key of it is looked up.

    The kernel's signal makes CPython's own handler note that it came, and the interpreter runs the Python
    handler at its next check: at the start of a function, at a jump backwards, after a call
    (``CHECK_EVAL_BREAKER`` in ``Python/ceval.c`` and ``Python/bytecodes.c``). A call, of `os.kill` or
    whatever else, ends with a check. A look-up does not, and nothing beneath this one has a frame: who
    does it last of all, and returns, leaves the signal pending in its caller.
    """
    import ctypes

    send = ctypes.PyDLL(None)["raise"]
    send.argtypes = [ctypes.c_int]
    return defaultdict(functools.partial(send, number))
