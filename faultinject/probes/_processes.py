"""Child processes: the whole tree, zombies included."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from os import listdir  # its own reference: a target may put something else in its place

from faultinject.facts import Item
from faultinject.probes._groups import name_group
from faultinject.probes._proc import Stat, machinery, needs_proc, read, stat
from faultinject.probes._protocol import Cost, Nature

# Linux's __WALL: children made by clone() without SIGCHLD too. The os module has no name for it.
_WALL = 0x40000000
_HELPERS = (b"multiprocessing.resource_tracker import main", b"multiprocessing.forkserver import main")


class Processes:
    """Every process below this one, keyed by pid and start time.

    Without children it costs one ``waitid`` that reaps nothing. With children it reads
    ``/proc/<pid>/task/<tid>/children``, and where the kernel was built without that file, the parent of every
    process. A process whose parent has died is out of the tree, unless this process is a subreaper
    (``PR_SET_CHILD_SUBREAPER``).

    multiprocessing's resource tracker and fork server are left out, here and in the children; what the
    fork server has started is not.
    """

    name: str = "processes"
    nature: Nature = "resource"
    cost: Cost = "cheap"
    fork_visible: bool = False
    private: bool = False

    def __init__(self) -> None:
        self._helper: dict[tuple[str, str], bool] = {}

    def unavailable(self) -> str | None:
        return needs_proc()

    def snapshot(self) -> Mapping[str, Item]:
        if not has_children():
            self._helper.clear()
            return {}
        own = machinery().processes
        table = _multiprocessing_names()
        helpers: dict[tuple[str, str], bool] = {}
        found: dict[str, Item] = {}
        for pid, facts in descendants():
            if pid in own or self._is_helper(pid, facts, helpers):
                continue
            found[f"{pid}:{facts.start}"] = _item(pid, facts, table.get(pid))
        self._helper = helpers
        return found

    def _is_helper(self, pid: int, facts: Stat, helpers: dict[tuple[str, str], bool]) -> bool:
        if facts.state in "ZX" or not facts.command.startswith(("python", "pypy")):
            return False
        key = (f"{pid}:{facts.start}", facts.command)
        answer = self._helper.get(key)
        if answer is None or not answer:
            # A "no" is asked again: between fork and exec a child still bears its parent's command line.
            command = _command_line(pid)
            answer = any(helper in command for helper in _HELPERS)
        helpers[key] = answer
        return answer


def _command_line(pid: int) -> bytes:
    # Empty for some microseconds in the middle of an exec, when the parent already goes on.
    for _ in range(100):
        try:
            command = read(f"/proc/{pid}/cmdline")
        except OSError:
            break
        if command:
            return command
        os.sched_yield()
    return b""


def has_children() -> bool:
    """Whether this process has a child, a zombie too; neither waits nor reaps."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT | _WALL)
    except ChildProcessError:
        return False
    return True


def descendants() -> Iterator[tuple[int, Stat]]:
    """Each process below this one, parents first, with its facts at this moment."""
    waiting = _children("self")
    if waiting is None:
        yield from _descendants_by_parent()
        return
    seen: set[int] = set()
    while waiting:
        pid = waiting.pop(0)
        if pid in seen:
            continue
        seen.add(pid)
        try:
            facts = stat(f"/proc/{pid}/stat")
        except OSError:
            continue
        yield pid, facts
        waiting.extend(_children(str(pid)) or ())


def _children(process: str) -> list[int] | None:
    """Children of all threads of a process; ``None`` where the kernel does not tell."""
    base = f"/proc/{process}/task"
    try:
        threads = listdir(base)
    except OSError:
        return []
    pids: list[int] = []
    for thread in threads:
        try:
            pids.extend(map(int, read(f"{base}/{thread}/children").split()))
        except FileNotFoundError:
            # Either this thread has just ended, or there is no such file for any.
            if process == "self" and not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
                return None
        except ProcessLookupError:
            continue
    return pids


def _descendants_by_parent() -> Iterator[tuple[int, Stat]]:
    below: dict[int, list[int]] = {}
    for name in listdir("/proc"):
        if name.isdigit():
            try:
                text = read(f"/proc/{name}/stat")
            except OSError:
                continue
            parent = int(text[text.rindex(b")") + 2 :].split()[1])
            below.setdefault(parent, []).append(int(name))
    waiting = list(below.get(os.getpid(), ()))
    while waiting:
        pid = waiting.pop(0)
        try:
            facts = stat(f"/proc/{pid}/stat")
        except OSError:
            continue
        yield pid, facts
        waiting.extend(below.get(pid, ()))


def _multiprocessing_names() -> dict[int, str]:
    module = sys.modules.get("multiprocessing.process")
    names: dict[int, str] = {}
    for child in list(getattr(module, "_children", ())):
        pid = getattr(getattr(child, "_popen", None), "pid", None)
        if isinstance(pid, int):
            names[pid] = child.name
    return names


def _item(pid: int, facts: Stat, table_name: str | None) -> Item:
    zombie = facts.state in "ZX"
    name = table_name or facts.command
    label = f"{'zombie' if zombie else 'process'} {name!r} (pid {pid}"
    if table_name:
        label += ", in multiprocessing's table"
    if facts.state == "T":
        label += ", stopped"
    return Item(label=label + ")", group=name_group(name) + (" (zombie)" if zombie else ""))
