"""Chooses how a target's name is read."""

from __future__ import annotations

import dataclasses
import os
import sys

from faultinject.errors import TargetError
from faultinject.targets import _builtin, _callables, _pyproject
from faultinject.targets._target import Target, TargetSpec


def resolve(spec: TargetSpec) -> Target:
    """The target that `spec` names, ready to be prepared and called.

    The name is, in this order, a built-in or a plugin's target, a ``module:callable``, or a table under
    ``[tool.faultinject.targets]``. `spec.directory` becomes the first entry of ``sys.path``, and the
    variables in the target's `environment` are set in this process before anything is imported, since
    libraries such as torch read theirs only then.

    Raises:
        UsageError: the name or the pyproject table is malformed.
        TargetError: it names nothing, nothing that can be called, something that needs arguments, or
            its module does not import (the traceback is in `original`).
    """
    directory = os.path.abspath(spec.directory)
    if not os.path.isdir(directory):
        raise TargetError(f"target {spec.name!r}: there is no directory {directory}; give one that exists")
    put_first(directory)
    sys.path.extend(folder for folder in spec.path if folder not in sys.path)
    load = _builtin.find(spec.name)
    if load is not None:
        target = load()
        set_environment(target)
    elif ":" in spec.name:
        target = _callables.from_name(spec.name)
    else:
        target = _pyproject.from_table(spec.name, directory, set_environment=os.environ.update)
    if spec.release:
        target = dataclasses.replace(target, release=spec.release)
    if spec.own:
        target = dataclasses.replace(target, own=(*target.own, *spec.own))
    return target


def put_first(directory: str) -> None:
    """Makes `directory` the first place that modules are imported from."""
    if sys.path[:1] != [directory]:
        if directory in sys.path:
            sys.path.remove(directory)
        sys.path.insert(0, directory)


def set_environment(target: Target) -> None:
    os.environ.update(target.environment)
