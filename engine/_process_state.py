"""Process-wide state that starting a worker in this process changes, and the way back."""

from __future__ import annotations

import os
import random
import sys
from typing import Any

VARIABLES = ("VLLM_DIST_IDENT",)
"""Written by the worker for itself, anew at each start. Others are the caller's, or set once on purpose."""


class ProcessState:
    """Random generators, environment and torch's thread setting, as they are now."""

    def __init__(self, variables: tuple[str, ...] = VARIABLES) -> None:
        self.environment = {name: os.environ.get(name) for name in variables}
        self.random = random.getstate()
        self.numpy = _numpy_state()
        torch = sys.modules.get("torch")
        self.torch = torch.get_rng_state() if torch is not None else None
        self.set_num_threads: Any = getattr(torch, "set_num_threads", None)

    def restore(self) -> None:
        """Put back what differs."""
        for name, value in self.environment.items():
            if os.environ.get(name) != value:
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
        if random.getstate() != self.random:
            random.setstate(self.random)
        numpy = sys.modules.get("numpy")
        if numpy is not None and self.numpy is not None:
            numpy.random.set_state(self.numpy)
        torch = sys.modules.get("torch")
        if torch is not None and self.torch is not None:
            torch.set_rng_state(self.torch)
            if torch.set_num_threads is not self.set_num_threads:
                vars(torch)["set_num_threads"] = self.set_num_threads


def _numpy_state() -> Any:
    numpy = sys.modules.get("numpy")
    return numpy.random.get_state() if numpy is not None else None
