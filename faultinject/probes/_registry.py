"""Which probes there are: faultinject's own, and those that installed packages add."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Sequence

from faultinject._near import near
from faultinject.errors import UsageError
from faultinject.probes._asyncio import Asyncio
from faultinject.probes._atexit import ExitCallbacks
from faultinject.probes._compare import remember
from faultinject.probes._device_memory import DeviceMemory
from faultinject.probes._environment import Environment
from faultinject.probes._fds import FileDescriptors
from faultinject.probes._gc import GarbageCollector
from faultinject.probes._locks import FileLocks, Locks
from faultinject.probes._logging import Logging
from faultinject.probes._mmaps import MemoryMappings
from faultinject.probes._multiprocessing import MultiprocessingChildren
from faultinject.probes._processes import Processes
from faultinject.probes._protocol import Probe
from faultinject.probes._semaphores import Semaphores
from faultinject.probes._shared_memory import SharedMemory
from faultinject.probes._signals import Signals
from faultinject.probes._sockets import Sockets
from faultinject.probes._sys_path import SysPath
from faultinject.probes._temporary_files import TemporaryFiles
from faultinject.probes._threads import Threads
from faultinject.probes._torch import ProcessGroups, TorchRandomState, TorchSettings
from faultinject.probes._warnings import Warnings
from faultinject.probes._working_directory import WorkingDirectory
from faultinject.probes._zmq import ZeroMQ

# The order of reports: what is dearest first.
BUILT_IN: tuple[type[Probe], ...] = (
    Processes,
    SharedMemory,
    DeviceMemory,
    FileDescriptors,
    Sockets,
    Threads,
    MultiprocessingChildren,
    ProcessGroups,
    ZeroMQ,
    Semaphores,
    TemporaryFiles,
    MemoryMappings,
    Asyncio,
    Locks,
    FileLocks,
    GarbageCollector,
    Signals,
    Environment,
    WorkingDirectory,
    Logging,
    Warnings,
    SysPath,
    ExitCallbacks,
    TorchSettings,
    TorchRandomState,
)


def load_probes(
    only: Sequence[str] | None = None, without: Sequence[str] = (), plugins: bool = True
) -> list[Probe]:
    """New probes, faultinject's own first, then those of installed packages by name.

    Args:
        only: names of the probes wanted; all of them where ``None``.
        without: names of probes not wanted.
        plugins: whether to ask installed packages (entry points of the group ``faultinject``). They are not
            asked where `only` names none but faultinject's own.

    Raises:
        UsageError: a name that no probe has, or a plugin that cannot be loaded or does not fit.
    """
    found: dict[str, Probe] = {kind.name: kind() for kind in BUILT_IN}
    named = {*(only or ()), *without}
    if plugins and (only is None or not named <= found.keys()) and any_plugin():
        # pluggy and the search for entry points cost more than all of these probes.
        from faultinject.hookspecs import installed_probes

        for probe in installed_probes(taken=found):
            found[probe.name] = probe
            remember(probe)
    for name in (*(only or ()), *without):
        if name not in found:
            raise UsageError(_unknown(name, list(found)))
    wanted = found.keys() if only is None else set(only)
    return [probe for name, probe in found.items() if name in wanted and name not in without]


@functools.cache
def any_plugin() -> bool:
    """Whether an installed distribution has entry points of the group ``faultinject``.

    Only looks: `importlib.metadata` and pluggy would double the size of a small target's process, and
    each case is a fork of it.
    """
    for directory in dict.fromkeys(sys.path):
        try:
            with os.scandir(directory or ".") as entries:
                names = [e.path for e in entries if e.name.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        for name in names:
            try:
                with open(os.path.join(name, "entry_points.txt"), encoding="utf-8", errors="replace") as file:
                    if "[faultinject]" in file.read():
                        return True
            except OSError:
                continue
    return False


def _unknown(name: str, names: list[str]) -> str:
    return f"unknown probe {name!r}{near(name, names)}; there are {', '.join(names)}"
