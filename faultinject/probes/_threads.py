"""Threads, those that native libraries start included."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from os import listdir  # its own reference: a target may put something else in its place

from faultinject.facts import Item
from faultinject.probes._groups import name_group
from faultinject.probes._proc import needs_proc, stat
from faultinject.probes._protocol import Cost, Nature

# A native thread names itself after it has started; until then it bears its parent's name.
_LOOKS = 3


class Threads:
    """The kernel's list of this process's threads, with Python's names where Python knows them.

    A thread stays in the kernel's list for some microseconds after ``join`` has returned. The key of the
    main thread is ``main``, that of any other its kernel number and start time.
    """

    name: str = "threads"
    nature: Nature = "resource"
    cost: Cost = "cheap"
    fork_visible: bool = False
    private: bool = True

    def __init__(self) -> None:
        self._process = 0
        self._known: dict[str, _Seen] = {}

    def unavailable(self) -> str | None:
        return needs_proc()

    def snapshot(self) -> Mapping[str, Item]:
        process = os.getpid()
        if process != self._process:
            self._process, self._known = process, {}
        numbers = listdir("/proc/self/task")
        names = _python_names() if len(numbers) > 1 else {}
        known, fresh = self._known, {}
        found: dict[str, Item] = {}
        main = str(process)
        for number in numbers:
            if number == main:
                found["main"] = _MAIN
                continue
            name = names.get(int(number), "")
            seen = known.get(number)
            if seen is None or seen.name != name or (not name and seen.looks < _LOOKS):
                try:
                    facts = stat(f"/proc/self/task/{number}/stat")
                except OSError:
                    continue
                looks = seen.looks + 1 if seen is not None else 1
                seen = _Seen(number, name, facts.command, facts.start, looks)
            fresh[number] = seen
            found[seen.key] = seen.item
        self._known = fresh
        return found


_MAIN = Item(label="main thread", group="main thread")


class _Seen:
    __slots__ = ("item", "key", "looks", "name")

    def __init__(self, number: str, name: str, command: str, start: str, looks: int) -> None:
        self.key = f"{number}:{start}"
        self.name = name
        self.looks = looks
        if name:
            self.item = Item(label=f"thread {name!r} ({number})", group=name_group(name))
        else:
            self.item = Item(
                label=f"native thread {command!r} ({number})", group="native " + name_group(command)
            )


def _python_names() -> dict[int, str]:
    threading = sys.modules.get("threading")
    if threading is None:
        return {}
    # list() of a dict's values holds the interpreter lock throughout; threading.enumerate() would wait
    # for a lock that the code under observation may hold.
    # A thread that has told its starter so is in `_limbo` until it has run on: it is named by then.
    alive = [*list(threading._limbo.values()), *list(threading._active.values())]
    return {t.native_id: t.name for t in alive if t.native_id is not None}
