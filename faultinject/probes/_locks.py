"""Locks that are held, as far as that can be known."""

from __future__ import annotations

import _imp
import _thread
import os
import sys
import types
import weakref
from collections.abc import Iterator, Mapping
from os import listdir  # its own reference: a target may put something else in its place
from typing import Any

from faultinject.facts import Item
from faultinject.probes._groups import path_group
from faultinject.probes._proc import needs_proc, read
from faultinject.probes._protocol import Cost, Nature

# These make their locks anew in a forked child, which would look like a release.
_REMADE_AFTER_FORK = frozenset({"logging", "threading", "concurrent.futures.thread"})
_OWN = "faultinject"
_Found = list[tuple[str, weakref.ref[Any]]]
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement.


class Locks:
    """Held locks that a module names: a global, an attribute of a class, an attribute of a global object.

    Knows ``Lock``, ``RLock``, ``Condition``, ``BoundedSemaphore`` of threading, ``Lock`` of asyncio, and the
    import lock. Cannot see: a lock that only an instance, a closure or native code refers to; who holds a
    plain lock; a ``Semaphore`` without a bound, which does not tell what it started with; multiprocessing's
    locks; the locks of logging and threading themselves.

    Where the locks are is found once a module, and again when the module has got more or fewer names.
    """

    name: str = "locks"
    nature: Nature = "resource"
    cost: Cost = "costly"
    fork_visible: bool = True
    private: bool = True

    def __init__(self) -> None:
        self._places: dict[str, tuple[int, int, _Found]] = {}
        self._locks: _Found = []

    def unavailable(self) -> str | None:
        return None

    def snapshot(self) -> Mapping[str, Item]:
        if self._search():
            # One lock may go by several names, where modules import it from each other.
            named: dict[int, tuple[str, weakref.ref[Any]]] = {}
            for _, _, entries in self._places.values():
                for key, reference in entries:
                    lock = reference()
                    if lock is not None:
                        named.setdefault(id(lock), (key, reference))
            self._locks = list(named.values())
        found: dict[str, Item] = {}
        for key, reference in self._locks:
            lock = reference()
            if lock is not None and _held(lock):
                found[key] = Item(f"lock {key}", group=f"lock {key}")
        if _imp.lock_held():
            found["import lock"] = Item("import lock", group="import lock")
        return found

    def _search(self) -> bool:
        """Looks into the modules that changed; whether there were any."""
        places, fresh, moved = self._places, {}, False
        kinds: frozenset[type] | None = None
        plain, namespace = types.ModuleType, object.__getattribute__
        # Whatever a program has put there.
        modules: dict[str, Any] = sys.modules
        for name, module in list(modules.items()):
            kind = type(module)
            if kind is not plain and not issubclass(kind, plain):
                continue
            # Past __getattribute__, at which a lazy module would import itself.
            names = module.__dict__ if kind is plain else namespace(module, "__dict__")
            entry = places.get(name)
            if entry is None or entry[0] != id(module) or entry[1] != len(names):
                moved = True
                kinds = _kinds() if kinds is None else kinds
                entry = id(module), len(names), [] if _skipped(name) else list(_find(name, names, kinds))
            fresh[name] = entry
        moved = moved or len(fresh) != len(places)
        self._places = fresh
        return moved


class FileLocks:
    """Locks on files (``flock``, ``fcntl``) taken by this process, as ``/proc/locks`` lists them."""

    name: str = "file locks"
    nature: Nature = "resource"
    cost: Cost = "cheap"
    # The kernel lists a lock under the process that took it, and unlocking in a copy unlocks for both.
    fork_visible: bool = False
    private: bool = False

    def unavailable(self) -> str | None:
        return needs_proc() or (None if os.access("/proc/locks", os.R_OK) else "/proc/locks cannot be read")

    def snapshot(self) -> Mapping[str, Item]:
        text = read("/proc/locks")
        process = b" %d " % os.getpid()
        if process not in text:
            return {}
        paths: dict[str, str] | None = None
        found: dict[str, Item] = {}
        for line in text.splitlines():
            fields = line.decode().split()
            # 1: FLOCK ADVISORY WRITE 1234 00:1b:567 0 EOF; a waiting one has "->" after the number.
            if process not in line or fields[1] == "->" or fields[4] != process.strip().decode():
                continue
            kind, how, where = fields[1].lower(), fields[3].lower(), fields[5]
            if paths is None:
                paths = _paths_by_inode()
            inode = where.rpartition(":")[2]
            path = paths.get(inode, f"inode {inode}")
            found[":".join((kind, where, *fields[6:8]))] = Item(
                f"{kind} {how} lock on {path}", group=f"{kind} {how} {path_group(path)}"
            )
        return found


def _paths_by_inode() -> dict[str, str]:
    paths: dict[str, str] = {}
    for number in listdir("/proc/self/fd"):
        try:
            paths[str(os.fstat(int(number)).st_ino)] = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
    return paths


def _skipped(module: str) -> bool:
    return module in _REMADE_AFTER_FORK or module == _OWN or module.startswith(_OWN + ".")


def _kinds() -> frozenset[type]:
    kinds: set[Any] = {_thread.LockType, _thread.RLock}
    threading = sys.modules.get("threading")
    for name in ("_PyRLock", "_RLock", "Condition", "BoundedSemaphore"):
        kinds.add(getattr(threading, name, None))
    kinds.add(getattr(sys.modules.get("asyncio.locks"), "Lock", None))
    return frozenset(kind for kind in kinds if isinstance(kind, type))


def _find(
    module: str, names: dict[str, Any], kinds: frozenset[type]
) -> Iterator[tuple[str, weakref.ref[Any]]]:
    for name, value in list(names.items()):
        kind = type(value)
        if kind in kinds:
            yield f"{module}.{name}", weakref.ref(value)
        elif issubclass(kind, type):
            inside = type.__dict__["__dict__"].__get__(value)
            if inside.get("__module__") == module:
                yield from _within(f"{module}.{name}", inside, kinds)
        elif kind.__flags__ & _HEAP_TYPE and not issubclass(kind, types.ModuleType):
            # A Thread's own lock is held for as long as it runs.
            if any(base.__module__ == "threading" and base.__name__ == "Thread" for base in kind.__mro__):
                continue
            try:
                inside = object.__getattribute__(value, "__dict__")
            except AttributeError:
                continue
            if type(inside) is dict:
                yield from _within(f"{module}.{name}", inside, kinds)


def _within(
    prefix: str, inside: Mapping[str, Any], kinds: frozenset[type]
) -> Iterator[tuple[str, weakref.ref[Any]]]:
    for name, value in list(inside.items()):
        if type(value) in kinds:
            yield f"{prefix}.{name}", weakref.ref(value)


def _held(lock: Any) -> bool:
    kind = type(lock).__name__
    if kind == "Condition":
        return _held(lock._lock)
    if kind == "BoundedSemaphore":
        return bool(lock._value < lock._initial_value)
    if kind in {"RLock", "_RLock"}:
        # An RLock tells by its text only, before 3.14: locked() came there.
        return repr(lock).startswith("<locked")
    return bool(lock.locked())
