"""Targets that have a name of their own: those that ship with faultinject, and those of plugins.

A plugin adds its own through the hook ``faultinject_register_targets``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from faultinject.targets._target import Target

Loader = Callable[[], Target]

_BUILT_IN: dict[str, str] = {
    "vllm:EngineCore": "faultinject.targets._vllm:engine_core",
    "vllm:EngineCoreProc": "faultinject.targets._vllm_process:target",
    "engine:EngineCoreProc": "faultinject.targets._engine:engine_core_process",
    "engine:EngineCore": "faultinject.targets._engine:engine_core",
    "vllm:LLM": "faultinject.targets._vllm_trees:llm",
    "vllm:LLM-tp2": "faultinject.targets._vllm_trees:llm_tp2",
    "vllm:AsyncLLM": "faultinject.targets._vllm_trees:async_llm",
    "vllm:MultiprocExecutor": "faultinject.targets._vllm_trees:multiproc_executor",
    "vllm:serve": "faultinject.targets._vllm_serve:target",
    "engine:LLM": "faultinject.targets._engine_trees:llm",
    "engine:LLM-tp2": "faultinject.targets._engine_trees:llm_tp2",
    "engine:AsyncLLM": "faultinject.targets._engine_trees:async_llm",
    "engine:MultiprocExecutor": "faultinject.targets._engine_trees:multiproc_executor",
    "engine:serve": "faultinject.targets._engine_trees:serve",
}
"""Name -> ``module:function`` that makes the target; imported only when it is asked for."""


_TREES = frozenset(
    name for name, made_by in _BUILT_IN.items() if "_trees:" in made_by or "_serve:" in made_by
)
"""Those that are trees of processes, whose fault points are milestones."""


def is_tree(name: str) -> bool:
    """Whether the built-in target of that name starts processes, and is looked at by its milestones."""
    return name in _TREES


def names() -> tuple[str, ...]:
    """The built-in names and those of plugins."""
    return (*_BUILT_IN, *_of_plugins())


def find(name: str) -> Loader | None:
    """What makes the target called `name`, or ``None`` if no such name is known here."""
    path = _BUILT_IN.get(name)
    if path is not None:
        module, _, function = path.partition(":")
        loader: Loader = getattr(importlib.import_module(module), function)
        return loader
    return _of_plugins().get(name)


def _of_plugins() -> dict[str, Loader]:
    # Loads every plugin, so only for a name that is not built in.
    from faultinject.probes import any_plugin

    if not any_plugin():
        return {}
    from faultinject.hookspecs import installed_targets

    return installed_targets(_BUILT_IN)
