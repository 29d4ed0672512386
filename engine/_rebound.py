"""Functions of vLLM's, run as they are with some of their global names bound to something else.

So nothing of vLLM's modules changes, constructions in several threads do not know of each other, and a
name that somebody else has replaced in the module is still the one that is called.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any


def rebound(upstream: Any, **names: Any) -> FunctionType:
    """A function with the code of `upstream`, and these of its globals bound anew."""
    plain = getattr(upstream, "__func__", upstream)
    copy = FunctionType(
        plain.__code__, {**plain.__globals__, **names}, plain.__name__, plain.__defaults__, plain.__closure__
    )
    copy.__kwdefaults__ = plain.__kwdefaults__
    return copy
