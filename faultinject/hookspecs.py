"""The hooks by which another package adds probes and named targets.

A package registers a module or an object under the entry-point group ``faultinject``::

    [project.entry-points.faultinject]
    mine = "mypackage.for_faultinject"

and implements in it one or both of the hooks below, each marked with `hookimpl`::

    from faultinject.hookspecs import hookimpl

    @hookimpl
    def faultinject_register_probes():
        return [MyProbe()]

What a hook returns is checked when it is registered, and a misfit is refused by name. Nothing of this is
imported before a probe or target that faultinject does not bring itself is asked for.
"""

from __future__ import annotations

import functools
import importlib.metadata
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import pluggy

from faultinject.errors import UsageError
from faultinject.probes._conformance import shape_problems
from faultinject.probes._protocol import Probe

if TYPE_CHECKING:
    from faultinject.targets._target import Target

PROJECT = "faultinject"
"""Name of the pluggy project and of the entry-point group."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class HookSpecs:
    """What may be implemented."""

    @hookspec
    def faultinject_register_probes(self) -> Sequence[Probe]:  # type: ignore[empty-body]
        """New probes. A probe must have all that `faultinject.probes.Probe` names, and a name not taken."""

    @hookspec
    def faultinject_register_targets(self) -> Mapping[str, Callable[[], Target]]:  # type: ignore[empty-body]
        """Named targets, each with a function that makes it. Names are best written ``package:what``."""


def new_manager() -> pluggy.PluginManager:
    """A plugin manager that knows the hooks and no plugin."""
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(HookSpecs)
    return manager


@functools.cache
def manager() -> pluggy.PluginManager:
    """The plugin manager with every installed plugin, loaded on the first call.

    Raises:
        UsageError: a plugin that cannot be imported, or implements a hook in a wrong shape; the original
            traceback is with it.
    """
    found = new_manager()
    for point in importlib.metadata.entry_points(group=PROJECT):
        if found.has_plugin(point.name):
            continue
        try:
            found.register(point.load(), name=point.name)
        except Exception as error:
            raise UsageError(
                f"the faultinject plugin {point.name!r} ({point.value}) cannot be loaded: {error!r}; "
                f"repair or uninstall {point.dist.name if point.dist else 'its package'}",
                original=traceback.format_exc(),
            ) from error
    return found


def installed_probes(taken: Collection[str], plugins: pluggy.PluginManager | None = None) -> list[Probe]:
    """The probes that plugins add, sorted by name.

    Args:
        taken: names in use.
        plugins: where to look; the installed plugins by default.

    Raises:
        UsageError: a hook that fails, a probe that lacks an attribute, or a name that is taken.
    """
    found: dict[str, Probe] = {}
    for plugin, returned in _called(plugins, "faultinject_register_probes"):
        if not isinstance(returned, Sequence) or isinstance(returned, str):
            raise UsageError(
                f"plugin {plugin!r}: faultinject_register_probes must return a sequence of probes"
            )
        for probe in returned:
            name = getattr(probe, "name", None) or type(probe).__name__
            for attribute, problem in shape_problems(probe):
                raise UsageError(f"plugin {plugin!r}, probe {name!r}: attribute {attribute!r} {problem}")
            if name in taken or name in found:
                raise UsageError(
                    f"plugin {plugin!r}, probe {name!r}: attribute 'name' is taken by another probe"
                )
            found[name] = probe
    return [found[name] for name in sorted(found)]


def installed_targets(
    taken: Collection[str] = (), plugins: pluggy.PluginManager | None = None
) -> dict[str, Callable[[], Target]]:
    """The named targets that plugins add.

    Args:
        taken: names in use.
        plugins: where to look; the installed plugins by default.

    Raises:
        UsageError: a hook that fails, a name that is taken or no text, or a maker that is not callable.
    """
    found: dict[str, Callable[[], Target]] = {}
    for plugin, returned in _called(plugins, "faultinject_register_targets"):
        if not isinstance(returned, Mapping):
            raise UsageError(f"plugin {plugin!r}: faultinject_register_targets must return a mapping")
        for name, maker in returned.items():
            if not isinstance(name, str) or not name:
                raise UsageError(f"plugin {plugin!r}, target {name!r}: the name is not text")
            if not callable(maker):
                raise UsageError(f"plugin {plugin!r}, target {name!r}: {maker!r} is not callable")
            if name in taken or name in found:
                raise UsageError(f"plugin {plugin!r}, target {name!r}: the name is taken by another target")
            found[name] = cast("Callable[[], Target]", maker)
    return found


def _called(plugins: pluggy.PluginManager | None, hook: str) -> Iterator[tuple[str, Any]]:
    # One implementation at a time: what a hook call returns does not say which plugin it is of.
    found = manager() if plugins is None else plugins
    for implementation in getattr(found.hook, hook).get_hookimpls():
        try:
            returned = implementation.function()
        except Exception as error:
            raise UsageError(
                f"plugin {implementation.plugin_name!r}: {hook} failed: {error!r}",
                original=traceback.format_exc(),
            ) from error
        yield implementation.plugin_name, returned
