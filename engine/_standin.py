"""What stands for a class of vLLM's in one of its functions."""

from __future__ import annotations

from typing import Any


class Standin:
    """Stands for a class in a function of vLLM's, with some of its names replaced."""

    def __init__(self, kind: Any, **own: Any) -> None:
        self._kind = kind
        vars(self).update(own)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._kind(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kind, name)
