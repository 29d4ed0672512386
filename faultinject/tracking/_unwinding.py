"""What happens while a fault is on its way: who releases what, who swallows it, when it is out."""

from __future__ import annotations

import contextlib
import time
import weakref
from _thread import RLock, get_ident
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType, ModuleType, TracebackType

import msgspec

from faultinject.backends._callables import callee_name
from faultinject.facts import ReleaseCall
from faultinject.tracking._ledger import Ledger, Path
from faultinject.tracking._names import (
    GUARDS,
    first_argument,
    frame_name,
    is_release_name,
    is_stdlib,
    short_callee,
)
from faultinject.tracking._objects import OwnedObject
from faultinject.tracking._second import AwaitedRelease
from faultinject.tracking._stack import ShadowStack

_MOVERS = frozenset({"rename", "replace"})
_REMOVERS = _MOVERS | {"unlink", "remove", "rmdir", "shm_unlink", "sem_unlink"}
"""C functions that take a name away; `_removes_names` tells them from methods that are called so."""

_LOOKS = 400
"""Snapshots taken while one fault unwinds; a clean-up that makes more calls is judged by its end."""


Releasing = list[tuple[int, int, int]]
"""The releases that run in one thread: id of the object, id of the frame, index of the call."""


def _removes_names(function: object, name: str) -> bool:
    """Whether a C function can take a name of the system's away.

    ``posix.unlink`` and ``_posixshmem.shm_unlink`` can. ``list.remove``, ``str.replace`` and ``code.replace``
    are called alike and cannot: what of others' vanishes beside one of those is not its doing.
    """
    if name not in _REMOVERS or hasattr(function, "__objclass__"):
        return False
    owner = getattr(function, "__self__", None)
    return owner is None or isinstance(owner, ModuleType)


def _gives_back_another(receiver: object, code: CodeType) -> bool:
    """Whether a release method must be told what to release: then it is not its own object that goes.

    ``pool.release(connection)`` and ``registry.unregister(name)`` end the connection, not the pool.
    """
    if code.co_name in ("__exit__", "__aexit__"):
        return False
    defaults = getattr(getattr(type(receiver), code.co_name, None), "__defaults__", None) or ()
    return code.co_argcount - len(defaults) > 1


class Unwinding:
    """Watches releases: of what is owned, of what is not, and in which order things go.

    Args:
        stack: the target's.
        ledger: what was acquired; `None` to watch calls only.
        owned: the objects whose release counts; grows as steps hand over more.
        lent: id -> type of the objects that existed before the target.
        owned_only: hear releases of owned objects only (a recording), not of lent ones.
        note: writes a line of the timeline.
    """

    def __init__(
        self,
        stack: ShadowStack,
        ledger: Ledger | None,
        owned: Sequence[OwnedObject],
        lent: Mapping[int, type],
        *,
        owned_only: bool,
        note: Callable[[str], None],
    ) -> None:
        self.stack = stack
        self.ledger = ledger
        self.owned = owned
        self.lent = lent
        self.owned_only = owned_only
        self.note = note
        self.releases: list[ReleaseCall] = []
        self.handled_by = ""
        self.root_returned = False
        self.left_at = 0.0
        self.on_handled: Callable[[str], None] | None = None
        self.known: set[int] = set()
        """ids of the objects under construction: releasing these is their own constructor's right."""
        self.path: Path | None = None
        """The stack that the fault came on; `None` until it has."""
        self.second: AwaitedRelease | None = None
        """The release at which a second fault comes."""
        self.strip: Callable[[TracebackType | None], None] = lambda trace: None
        """Takes the tool's frames off the traceback of what was raised in a thread of the clean-up's."""
        self._serials: frozenset[int] = frozenset()
        self._releasing: Releasing = []
        self._elsewhere: dict[int, Releasing] = {}
        self._second_frame = 0
        self._lock = RLock()
        self._half_made: list[Callable[[], object]] = []
        self._looks = 0

    def begin(self, path: Path) -> None:
        """A fault is about to be raised at the end of `path`."""
        self.path = path
        # The stack may also hold frames of the tool's, where a signal's handler is called.
        self._serials = frozenset(self.stack.serials) & {serial for serial, _ in path}

    def end(self) -> None:
        """The exception has left the target: whatever is called from now on is a finalizer."""
        self.stack.clear()
        self._releasing.clear()
        self.second = None

    @property
    def busy(self) -> bool:
        """Whether a release is running in the target's thread."""
        return bool(self._releasing)

    def call(self, frame: FrameType, code: CodeType) -> None:
        """A Python function is called: note it if it gives back something of interest.

        Only the outermost release of an object counts: a method that calls its base class's is one release.
        """
        if is_release_name(code.co_name):
            self._call(frame, code, self._releasing)
        if self.second is not None and self.second.by_function:
            self._function(frame, code, self._releasing)

    def leave(self, frame: FrameType, *, normal: bool, suspended: bool = False) -> None:
        """A Python function is left, by its result, by a yield, or by an exception."""
        identity = id(frame)
        self._leave(frame, self._releasing, normal, suspended)
        ids = self.stack.ids
        if identity not in ids:
            return
        serial = self.stack.serials[ids.index(identity)]
        is_root = ids[0] == identity
        if not normal and not is_root and frame.f_code.co_name == "__init__":
            self.remember_half_made(frame)
        self.stack.pop(identity, ended=not suspended)
        if normal and serial in self._serials and not self.handled_by:
            self.handled_by = frame_name(frame)
            self.root_returned = is_root
            self.note(f"handled by {self.handled_by}")
            if self.on_handled is not None:
                self.on_handled(self.handled_by)
        if is_root and not suspended:
            self.left_at = time.perf_counter()

    def c_call(self, frame: FrameType, function: object, *, before: bool) -> None:
        """A C function is about to run, or has run."""
        ledger = self.ledger
        if ledger is None:
            return
        name = getattr(function, "__name__", "")
        if _removes_names(function, name):
            if not before:
                ledger.look_for_removed(self._answers(frame), moved=name in _MOVERS)
            ledger.look(lambda: self.stack.path(frame), 0, states=False)
            if before:
                ledger.before_removing()
        elif not before and name in GUARDS:
            self._look()
        if self.second is not None and self.second.by_function:
            self._c_function(frame, function, before, self._releasing)

    # ---- threads that the clean-up starts; the stack stays that of the target's thread ----

    def call_elsewhere(self, frame: FrameType) -> None:
        """A Python function is called in a thread that was started while the fault was on its way."""
        code = frame.f_code
        releasing = self._elsewhere.setdefault(get_ident(), [])
        if is_release_name(code.co_name):
            self._call(frame, code, releasing)
        if self.second is not None and self.second.by_function:
            self._function(frame, code, releasing)

    def leave_elsewhere(self, frame: FrameType, *, normal: bool, suspended: bool = False) -> None:
        """A Python function is left in such a thread."""
        releasing = self._elsewhere.get(get_ident(), [])
        if releasing or self._second_frame == id(frame):
            self._leave(frame, releasing, normal, suspended)

    def c_call_elsewhere(self, frame: FrameType, function: object, *, before: bool) -> None:
        """A C function is about to run, or has run, in such a thread."""
        ledger = self.ledger
        if ledger is None:
            return
        name = getattr(function, "__name__", "")
        if _removes_names(function, name):
            if not before:
                ledger.look_for_removed(self._still_running(), moved=name in _MOVERS)
            self._look()
            if before:
                ledger.before_removing()
        elif not before and name in GUARDS:
            self._look()
        if self.second is not None and self.second.by_function:
            self._c_function(frame, function, before, self._elsewhere.get(get_ident(), []))

    def unwinding_elsewhere(self, trace: TracebackType | None) -> None:
        """What was raised in such a thread is on its way."""
        self.strip(trace)

    # ---- either ----

    def _call(self, frame: FrameType, code: CodeType, releasing: Releasing) -> None:
        receiver = first_argument(frame)
        if receiver is None or isinstance(receiver, type) or _gives_back_another(receiver, code):
            return
        identity = id(receiver)
        # The target's thread may be in the release that has started the thread which goes on with it.
        if any(active == identity for active, _, _ in (*releasing, *self._releasing)):
            return
        second = self.second
        owned = next((one for one in self.owned if one.is_it(receiver)), None)
        if owned is None and second is not None and second.holds(receiver):
            if second.is_it(second.name, code.co_name):
                self._second_call(frame, second)
            return
        if owned is None and (self.owned_only or not self._is_foreign(receiver, code)):
            return
        name = owned.name if owned is not None else type(receiver).__qualname__
        by = self._answers(frame.f_back) if releasing is self._releasing else self._still_running()
        with self._lock:
            sequence = self.ledger.next_sequence() if self.ledger is not None else len(self.releases)
            self.releases.append(ReleaseCall(name, code.co_name, by, owned is not None, False, sequence))
            releasing.append((identity, id(frame), len(self.releases) - 1))
        self.note(f"{'releasing' if owned else 'releasing what is not owned:'} {name}.{code.co_name}()")
        if second is not None and owned is not None and second.is_it(name, code.co_name):
            self._second_call(frame, second)

    def _leave(self, frame: FrameType, releasing: Releasing, normal: bool, suspended: bool) -> None:
        identity = id(frame)
        if releasing and releasing[-1][1] == identity and not suspended:
            _, _, index = releasing.pop()
            if not normal:
                self._failed(index)
            self._look()
            if normal and identity == self._second_frame and self.second is not None:
                self._failed(index)
        if identity == self._second_frame and not suspended and self.second is not None:
            self._second_frame = 0
            if normal:
                self._strike(frame, self.second, is_call=True)

    def _failed(self, index: int) -> None:
        self.releases[index] = msgspec.structs.replace(self.releases[index], failed=True)

    # ---- the second fault ----

    def _second_call(self, frame: FrameType, second: AwaitedRelease) -> None:
        """The release that is awaited begins."""
        if second.phase == "after":
            self._second_frame = self._second_frame or id(frame)
        else:
            self._strike(frame, second, is_call=True)

    def _function(self, frame: FrameType, code: CodeType, releasing: Releasing) -> None:
        second = self.second
        if second is None or releasing or second.reached:
            return
        if second.is_function(short_callee(f"{frame.f_globals.get('__name__')}:{code.co_qualname}")):
            self._second_call(frame, second)

    def _c_function(self, frame: FrameType, function: object, before: bool, releasing: Releasing) -> None:
        """What an owned object calls on its way is a part of its own release."""
        second = self.second
        if second is None or releasing or before != (second.phase == "before"):
            return
        if second.is_function(short_callee(callee_name(function))):
            self._strike(frame, second, is_call=False)

    def _strike(self, frame: FrameType, second: AwaitedRelease, *, is_call: bool) -> None:
        second.reached = True
        self.note(f"second fault {second.phase} {second.name}.{second.release}")
        releasing = self._elsewhere.get(get_ident(), self._releasing)
        if is_call:
            # The end of a frame out of whose beginning, or end, something is raised is not reported on 3.11.
            if releasing is self._releasing:
                self.stack.pop(id(frame))
            if releasing and releasing[-1][1] == id(frame):
                self._failed(releasing.pop()[2])
        second.before_strike(frame)
        second.strike()

    def remember_half_made(self, frame: FrameType) -> None:
        """An ``__init__`` did not return: its object was never handed over, so nobody else may release it."""
        thing = first_argument(frame)
        if id(thing) not in self.known:
            with contextlib.suppress(TypeError):
                self._half_made.append(weakref.ref(thing))

    def _is_foreign(self, receiver: object, code: CodeType) -> bool:
        """Whether what is being released was never the target's: lent to it, or never finished."""
        kind = type(receiver)
        if id(receiver) in self.known or not self.stack.ids or code.co_name.startswith("__"):
            return False
        if is_stdlib(kind.__module__):
            return False
        return self.lent.get(id(receiver)) is kind or any(ref() is receiver for ref in self._half_made)

    def _still_running(self) -> str:
        """The innermost frame of the fault's stack that has not been left yet, seen from another thread."""
        running = set(self.stack.serials)
        names = [name for serial, name in self.path or () if serial in running]
        return names[-1] if names else (self.path[0][1] if self.path else "")

    def _answers(self, frame: FrameType | None) -> str:
        """The innermost frame of the fault's stack that still runs: the one whose handler is at work."""
        path = self.stack.path(frame)
        if self.path is not None:
            path = tuple(step for step in path if step in self.path)
        return path[-1][1] if path else (frame_name(frame) if frame is not None else "")

    def _look(self) -> None:
        if self.ledger is not None and self._looks < _LOOKS:
            self._looks += 1
            self.ledger.look(lambda: self.path or (), 0, states=False)
