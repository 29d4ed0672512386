"""Wraps the functions of milestones, as soon as their module has been imported."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, cast

Wrapper = Callable[[Any], Any]

_CO_COROUTINE = 0x80


class WhenImported:
    """An entry of ``sys.meta_path`` that lets others find a module, and wraps names in it once it has run.

    Args:
        wanted: module -> (qualified name, what makes the wrapper) of each function.
        missing: told of a name that a module turned out not to have.
    """

    def __init__(self, wanted: dict[str, list[tuple[str, Wrapper]]], missing: Callable[[str], None]) -> None:
        self.wanted = wanted
        self.missing = missing

    def install(self) -> None:
        """Wrap what is imported already, and the rest when it is."""
        for name in [name for name in self.wanted if name in sys.modules]:
            self.wrap(sys.modules[name], name)
        if self.wanted:
            sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in self.wanted:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    cast(Any, spec).loader = _Loader(spec.loader, self)
                return spec
        return None

    def wrap(self, module: Any, name: str) -> None:
        """Put the wrappers of one module in place, once."""
        for qualname, wrapper in self.wanted.pop(name, ()):
            holder, _, last = qualname.rpartition(".")
            try:
                owner = module
                for part in filter(None, holder.split(".")):
                    owner = getattr(owner, part)
                if isinstance(getattr(owner, last), type):
                    owner, last = getattr(owner, last), "__init__"
                _replace(owner, last, wrapper)
            except (AttributeError, TypeError):
                self.missing(f"{name}:{qualname}")


class _Loader:
    """Stands in for a module's loader until the module has run."""

    def __init__(self, loader: Any, when: WhenImported) -> None:
        self._loader = loader
        self._when = when

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._when.wrap(module, module.__name__)


def _replace(owner: Any, name: str, wrapper: Wrapper) -> None:
    """Put a wrapper in the place of a function, a method, a classmethod or a staticmethod."""
    raw = None
    for place in getattr(owner, "__mro__", (owner,)):
        raw = vars(place).get(name)
        if raw is not None:
            break
    if isinstance(raw, classmethod | staticmethod):
        setattr(owner, name, type(raw)(wrapper(raw.__func__)))
    elif callable(raw):
        setattr(owner, name, wrapper(raw))
    else:
        raise AttributeError(name)


def around(phase: str, arrive: Callable[[], None]) -> Wrapper:
    """What makes, of a function, one that arrives at a milestone before it runs or after it has returned."""

    def wrapper(function: Any) -> Any:
        if getattr(getattr(function, "__code__", None), "co_flags", 0) & _CO_COROUTINE:

            async def awaited(*args: Any, **kwargs: Any) -> Any:
                if phase == "before":
                    arrive()
                result = await function(*args, **kwargs)
                if phase == "after":
                    arrive()
                return result

            return functools.wraps(function)(awaited)

        def called(*args: Any, **kwargs: Any) -> Any:
            if phase == "before":
                arrive()
            result = function(*args, **kwargs)
            if phase == "after":
                arrive()
            return result

        return functools.wraps(function)(called)

    return wrapper
