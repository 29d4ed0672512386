"""Found by an interpreter that is started within a tree of processes; see `faultinject.trees`.

Loads the agent by its path, so that nothing of `faultinject` need be importable there, then lets a
``sitecustomize`` of the user's own run as if this one were not there.
"""

from __future__ import annotations

import importlib
import os
import sys


def _load_agent() -> None:
    directory = os.environ.get("FAULTINJECT_TREE", "")
    if not directory:
        return
    from importlib.util import module_from_spec, spec_from_file_location

    package = os.path.join(os.path.dirname(_HERE), "_agent")
    spec = spec_from_file_location(
        "_faultinject_agent", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
    )
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    module.arm(directory, "site")


def _let_the_users_own_run() -> None:
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    ours = sys.modules.pop("sitecustomize")
    try:
        importlib.import_module("sitecustomize")
    except ImportError as error:
        # The import of this one is not over, and expects to find it.
        sys.modules["sitecustomize"] = ours
        if error.name != "sitecustomize":
            raise


_HERE = os.path.dirname(os.path.abspath(__file__))
try:
    _load_agent()
except Exception:
    # A process of the user's must start, whatever is wrong with us.
    sys.modules.pop("_faultinject_agent", None)
_let_the_users_own_run()
