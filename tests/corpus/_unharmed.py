"""Builds specimens without any fault, and looks with its own eyes at what their release leaves.

``python -m tests.corpus._unharmed threads`` checks the specimens of one module; it prints a line for each
thing that is wrong and ends with status 1. It rests on nothing of faultinject.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
import os
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from importlib import import_module
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from tests.corpus._specimen import Specimen

Sight = dict[str, Any]


def resolve(target: str) -> Callable[[], Any]:
    """The callable that a target names; a method of a class gets a fresh object."""
    module, _, path = target.partition(":")
    holder: Any = None
    found: Any = import_module(module)
    for part in path.split("."):
        holder, found = found, getattr(found, part)
    if isinstance(holder, type) and inspect.isfunction(found):
        found = found.__get__(holder())
    return found  # type: ignore[no-any-return]


def construct(specimen: Specimen) -> Any:
    """One unharmed construction."""
    target = resolve(specimen.target)
    return asyncio.run(target()) if inspect.iscoroutinefunction(target) else target()


def descriptors() -> dict[int, str]:
    """Open descriptors with what they point to."""
    found: dict[int, str] = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue  # the descriptor by which the folder was listed
    return found


def children() -> set[int]:
    """Living and dead children of this process, and not the resource tracker."""
    found: set[int] = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path("/proc", name, "stat").read_text()
        except OSError:
            continue  # ended while the folder was read
        if int(stat.rpartition(")")[2].split()[1]) == os.getpid():
            found.add(int(name))
    return found - {resource_tracker._resource_tracker._pid}  # type: ignore[attr-defined]


def umask() -> str:
    """The umask, read without setting it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line for line in lines if line.startswith("Umask:"))


def look() -> Sight:
    """Everything that a release must bring back."""
    return {
        "descriptors": descriptors(),
        "threads": {thread.ident for thread in threading.enumerate()},
        "children": children(),
        "temporary files": sorted(os.listdir(tempfile.gettempdir())),
        "collector": (gc.isenabled(), gc.get_threshold()),
        "handlers": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "environment": dict(os.environ),
        "directory": os.getcwd(),
        "umask": umask(),
        "log handlers": [
            (name, list(logger.handlers))
            for name, logger in logging.root.manager.loggerDict.items()
            if isinstance(logger, logging.Logger) and logger.handlers
        ],
        "filters": list(warnings.filters),
        "import path": list(sys.path),
    }


def complaints(specimen: Specimen) -> list[str]:
    """What is wrong after two unharmed constructions in this process, each with its release."""
    wrong: list[str] = []
    for attempt in ("first", "second"):
        before, frozen = look(), gc.get_freeze_count()
        result = construct(specimen)
        segments = [path for path in descriptors().values() if path.startswith("/dev/shm/psm_")]
        if specimen.release:
            getattr(result, specimen.release)()
        del result
        gc.collect()
        after = look()
        wrong += [
            f"{specimen.name}: {what} after the {attempt} release: {before[what]} became {after[what]}"
            for what in before
            if before[what] != after[what]
        ]
        wrong += [f"{specimen.name}: {path} is left" for path in segments if os.path.exists(path)]
        if gc.get_freeze_count() > frozen:
            wrong.append(f"{specimen.name}: the heap stays frozen")
    return wrong


def main(module: str) -> int:
    """Check the specimens of one module of the corpus."""
    resource_tracker.ensure_running()
    asyncio.run(asyncio.sleep(0))
    with tempfile.TemporaryDirectory(prefix="faultinject-") as folder:
        tempfile.tempdir = folder
        specimens: tuple[Specimen, ...] = import_module(f"tests.corpus.{module}").SPECIMENS
        for specimen in specimens:
            resolve(specimen.target)
        wrong = [line for specimen in specimens for line in complaints(specimen)]
        tempfile.tempdir = None
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
