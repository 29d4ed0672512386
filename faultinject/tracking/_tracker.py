"""Follows the calls beneath a target: points, steps, acquisitions; and, after a fault, the unwinding."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from opcode import opname
from types import CodeType, FrameType, TracebackType
from typing import Any, Protocol

from faultinject.backends import Backend, is_target_frame
from faultinject.backends._callables import callee_name
from faultinject.facts import Phase
from faultinject.faults import Arriving
from faultinject.tracking._ledger import Ledger, Path
from faultinject.tracking._levels import Identifier, Site
from faultinject.tracking._lines import FaultLines
from faultinject.tracking._names import (
    GUARDS,
    first_argument,
    frame_name,
    is_callback_of_collection,
    is_constructor,
    is_guard,
    is_release_name,
)
from faultinject.tracking._objects import OwnedObject
from faultinject.tracking._own import OwnNames
from faultinject.tracking._second import AwaitedRelease
from faultinject.tracking._stack import ShadowStack
from faultinject.tracking._steps import OpenStep, Steps
from faultinject.tracking._unwinding import Unwinding

_ACQUIRERS = frozenset(
    """
    open open_code socket socketpair pipe pipe2 dup dup2 dup3 fork forkpty fork_exec posix_spawn
    start_new_thread start_joinable_thread shm_open mmap mkdir mkfifo epoll eventfd memfd_create
    timerfd_create accept _accept signal freeze disable enable set_threshold putenv unsetenv chdir
    fchdir umask symlink link SemLock FileIO openpty
    """.split()
)
_STATE_SETTERS = frozenset(
    """
    signal freeze disable enable set_threshold putenv unsetenv chdir fchdir umask
    """.split()
)


class PointHandler(Protocol):
    """Told of each fault point as it is reached; raises there by calling `Tracker.fire`."""

    def at(self, site: Site, phase: Phase, frame: FrameType, tracker: Tracker) -> None: ...


@dataclass
class FaultSeen:
    """Where and on which stack the fault was raised."""

    place: str
    code: CodeType | None
    line: int
    path: Path
    step: int
    at: float
    looked: bool = False
    identity: int = 0
    sequence: int = 0
    """What was seen to go later has a higher one."""
    own: int = 1
    """How many frames of `path`, from its beginning, are the target's own."""


@dataclass
class Tracker:
    """The listener between a backend and whoever wants to know.

    Args:
        identifier: decides which calls are points.
        ledger: what was acquired; `None` to follow calls only.
        handler: told of each point.
        backend: asked to go on hearing after a raise.
        dense: also look at every new call site, not only at the target's own calls. Needed where a
            fault lies beneath the target and each layer must answer for its own.
        owners: step call (``callee#occurrence``) -> name of the owned object it hands over.
        leave_out_guards, leave_out_finalizers: the two kinds of point left out by default.
        products: keep the objects that steps return, to find which of them are released later.
        own: globs of ``module:qualname``: a frame that an own frame calls is the target's own as well if one
            fits its name; or what tells such frames.
    """

    identifier: Identifier
    ledger: Ledger | None
    handler: PointHandler | None
    backend: Backend
    dense: bool = False
    owners: Mapping[str, str] = field(default_factory=dict)
    costly: bool = False
    """Also take the costly probes, at the end of each step and at the fault."""
    leave_out_guards: bool = True
    leave_out_finalizers: bool = True
    products: list[OwnedObject] | None = None
    lent: Mapping[int, type] = field(default_factory=dict)
    """id -> type of the objects that existed before the target: not its own to release."""
    second: AwaitedRelease | None = None
    """The release at which a second fault comes."""
    second_owners: Mapping[str, str] = field(default_factory=dict)
    """As `owners`, for objects whose release is not judged by being called, but may be failed."""
    own: Sequence[str] | OwnNames = ()

    def __post_init__(self) -> None:
        self.timeline: list[tuple[float, str]] = []
        self._started = time.perf_counter()
        self.stack = ShadowStack()
        self._stack = self.stack.ids
        self._guard = 0
        self._open: dict[int, Site] = {}
        self._open_c: dict[int, tuple[Site | None, str, bool]] = {}
        self._c_places: dict[tuple[int, int], tuple[None, str, bool] | None] = {}
        # At the levels of the target's own frame, what happens beneath it only has to be counted.
        self.shallow = self.identifier.level in ("steps", "opcodes") and not self.dense
        self._every_call = self.identifier.level == "nth"
        # Of a backend that hears of few calls, each is an occasion to look.
        self._sparse = not self.backend.sees_implicit_calls
        self._callbacks = {c.__code__ for c in gc.callbacks if hasattr(c, "__code__")}
        self._pseudo: tuple[int, str] | None = None
        self.names = self.own if isinstance(self.own, OwnNames) else OwnNames(self.own) if self.own else None
        """Tells which frames that own frames call are own as well; `None` where none is."""
        # How many frames of the stack are the target's own, and how many there are while one of them calls.
        self._own, self._reach = 1, 2
        self.looked = False
        """Whether `look_before_fault` was called already where the fault is to come, as before a fork."""
        self._steps = Steps(
            self.stack,
            self.ledger,
            self.owners,
            self.products,
            self.costly,
            self.note,
            second_owners=self.second_owners,
            named=self.names is not None,
        )
        self.steps = self._steps.done
        self.owned = self._steps.owned
        self.fault: FaultSeen | None = None
        self.watching = False
        followed = self.owned if self.products is None else self.products
        self.watch = Unwinding(
            self.stack, self.ledger, followed, self.lent, owned_only=self.products is not None, note=self.note
        )
        self.watch.strip = self.unwinding
        self.roots: list[str] = []
        self.context_at_fault = 0
        self._more = 0
        self._stripped = False
        self.release_mode = False
        self.sent: Arriving | None = None
        """A signal that the handler sends at the instruction it was told of."""
        self.lines: FaultLines | None = None
        """Told of the lines that run from the fault on."""
        self.on_raised: Callable[[FrameType, BaseException], None] | None = None
        """Told of each exception that passes an own frame while no fault is on its way."""

    @property
    def step(self) -> int:
        """Number of the last call of an own frame that has begun, or has ended after others within it."""
        return self._steps.number

    @property
    def started(self) -> dict[str, tuple[str, int]]:
        """Name of a product -> the step, and its number, in which it was started."""
        return self._steps.started

    @started.setter
    def started(self, known: dict[str, tuple[str, int]]) -> None:
        self._steps.started = known

    @property
    def nests(self) -> bool:
        """Whether frames that own frames call can be the target's own."""
        return self.names is not None

    def at_own(self) -> bool:
        """Whether the frame on top of the stack is the target's own."""
        return 0 < len(self._stack) == self._own

    # ---- what the interpreter tells ----

    def python_call(self, frame: FrameType) -> None:
        code = frame.f_code
        stack = self._stack
        if not stack:
            self._from_outside(frame, code)
            return
        fresh = self.stack.push(frame)
        if self.watching:
            self.watch.call(frame, code)
            if self._more and fresh:
                self._fail_again("python", "before", frame.f_back, frame)
            return
        if self._guard or not fresh or (self.shallow and len(stack) > self._reach):
            if self.names is not None and not fresh:
                self._go_on(frame)
            return
        own = False
        inner = len(stack) != self._reach
        if not inner:
            own = self.names is not None and self._is_own(frame)
            # Python code that a C function calls (a key function, a mapping's method) is part of that call.
            # But a target with more frames of its own may make a handle and keep it in one call, so that no
            # signal comes in between: of `handles.extend(map(cls, arguments))` the constructor is a step.
            inner = (
                stack[-2] in self._open_c and not own and (self.names is None or not is_constructor(frame))
            )
        if (
            code.co_name in GUARDS
            and not self.release_mode
            and is_guard(code.co_name, frame.f_globals.get("__name__"))
            and (self.leave_out_finalizers or code.co_name != "__del__")
        ):
            self._guard = len(stack)
            if not inner:
                self._steps.begin(frame.f_back, frame_name(frame), id(frame))
            if self.leave_out_guards:
                return
            self._guard = 0
        caller = frame.f_back
        if caller is None:
            return
        if not inner:
            step = self._steps.begin(caller, frame_name(frame), id(frame), own=own)
            if own:
                self._enter(frame)
            else:
                self._steps.starts(step, frame)
            if self.release_mode:
                self.watch.call(frame, code)
        elif self.release_mode and is_release_name(code.co_name):
            self.watch.call(frame, code)
        site = self.identifier.identify(
            caller, id(code), code, lambda: frame_name(frame), "python", self.step, inner
        )
        if site is None:
            return
        if self.leave_out_finalizers and is_callback_of_collection(frame, self._callbacks):
            self._guard = len(stack)
            return
        self._open[id(frame)] = site
        if self.dense and self.ledger is not None:
            self.ledger.look(lambda: self.stack.path(caller)[: len(stack) - 1], self.step, states=False)
        if self.handler is not None:
            self.handler.at(site, "before", frame, self)

    def python_return(self, frame: FrameType, value: Any) -> None:
        stack = self._stack
        if not stack:
            if self.watch.busy:
                self.watch.leave(frame, normal=True)
            return
        identity = id(frame)
        if self.watching:
            if self._more:
                self._fail_again("python", "after", frame.f_back, frame)
            self.watch.leave(frame, normal=True)
            return
        step = self._steps.find(identity) if len(stack) <= self._reach else None
        if identity in self._open:
            near = len(stack) <= self._reach
            site = self._open.pop(identity)
            if step is not None:
                site = self._at_end(site, step)
            if self.ledger is not None and (self.dense or near):
                self.ledger.look(lambda: self.stack.path(frame), self.step, states=near)
            if self.handler is not None:
                self.handler.at(site, "after", frame, self)
        self._pop(identity)
        if step is not None:
            self._steps.take(identity)
            self._steps.end(frame.f_back, step, self._steps.product_of(step, frame, value))

    def python_yield(self, frame: FrameType) -> None:
        if not self._stack:
            return
        if self.watching:
            self.watch.leave(frame, normal=True, suspended=True)
            return
        # A generator entered as a step (a context manager's) has handed over what it yields. An own frame has
        # not ended.
        step = self._steps.find(id(frame)) if len(self._stack) <= self._reach else None
        self._pop(id(frame), ended=False)
        if step is not None and not step.own:
            self._steps.take(id(frame))
            self._steps.end(frame.f_back, step, None)

    def python_unwind(self, frame: FrameType) -> None:
        if not self._stack:
            if self.watch.busy:
                self.watch.leave(frame, normal=False)
            return
        if self.watching:
            self.watch.leave(frame, normal=False)
            return
        identity = id(frame)
        self._open.pop(identity, None)
        step = self._steps.take(identity) if len(self._stack) <= self._reach else None
        self._pop(identity)
        if step is not None:
            self._steps.end(frame.f_back, step, None)

    def c_call(self, frame: FrameType, function: object) -> None:
        stack = self._stack
        if not stack:
            return
        if self.watching:
            if self._more:
                self._fail_again("c", "before", frame, frame)
            self.watch.c_call(frame, function, before=True)
            return
        if self._guard:
            return
        inner = len(stack) != self._own
        place = (id(frame.f_code), frame.f_lasti)
        if inner:
            if self.shallow:
                return
            if place in self._c_places and not self._every_call:
                known = self._c_places[place]
                if known is not None:
                    self._open_c[id(frame)] = known
                elif self._open_c:
                    self._open_c.pop(id(frame), None)
                return
        name = getattr(function, "__name__", "")
        acquirer = name in _ACQUIRERS or self._sparse or (self.release_mode and name in GUARDS)
        if not inner:
            self._steps.begin(frame, callee_name(function), ~id(frame))
        site: Site | None = None
        if not (self.leave_out_guards and name in GUARDS and is_guard(name, _c_module(function))):
            site = self.identifier.identify(
                frame,
                hash(callee_name(function)) if self._every_call else 0,
                frame.f_code,
                lambda: callee_name(function),
                "c",
                self.step,
                inner,
            )
        if inner and self.identifier.level != "stacks":
            # One call instruction, one site: what it calls is asked only the first time.
            self._c_places[place] = (None, name, True) if acquirer else None
        if site is None and not acquirer and inner:
            self._open_c.pop(id(frame), None)
            return
        self._open_c[id(frame)] = (site, name, acquirer)
        if site is None:
            return
        if self._sparse and self.dense and self.ledger is not None:
            self.ledger.look(lambda: self.stack.path(frame), self.step, states=False)
        if self.handler is not None:
            self._pseudo = None
            self.handler.at(site, "before", frame, self)

    def c_return(self, frame: FrameType, function: object) -> None:
        if not self._stack:
            return
        if self.watching:
            self.watch.c_call(frame, function, before=False)
            if self._more:
                self._fail_again("c", "after", frame, frame)
            return
        if not self._open_c:
            return
        opened = self._open_c.pop(id(frame), None)
        if opened is None:
            return
        site, name, acquirer = opened
        inner = len(self._stack) != self._own
        # A C function has no frame: its step goes by that of its caller.
        step = self._steps.take(~id(frame)) if not inner else None
        if step is not None and site is not None:
            site = self._at_end(site, step)
        pseudo = (0, "")
        if acquirer or not inner or site is not None:
            pseudo = self._pseudo = (self.stack.next_serial(), callee_name(function))
        if self.ledger is not None and (acquirer or not inner):
            states = not inner or self.release_mode or name in _STATE_SETTERS
            self.ledger.look(lambda: (*self.stack.path(frame), pseudo), self.step, states=states)
        if site is not None and self.handler is not None:
            self.handler.at(site, "after", frame, self)
        self._pseudo = None
        if step is not None:
            self._steps.end(frame, step, None)

    def c_raise(self, frame: FrameType, function: object) -> None:
        if self.watching or not self._stack:
            return
        if self._open_c.pop(id(frame), None) is not None and len(self._stack) == self._own:
            step = self._steps.take(~id(frame))
            if step is not None:
                self._steps.end(frame, step, None)

    def standing(self, frames: list[tuple[FrameType, int]]) -> None:
        if self.watching:
            return
        root = frames[0][0]
        if not self.roots:
            self.roots.append(frame_name(root))
            self.watch.known.add(id(first_argument(root)))
        self.stack.replace(frames)
        if self.names is not None:
            own = 1
            while own < len(frames) and self._is_own(frames[own][0]):
                own += 1
            self._set_own(own)

    def unwinding(self, trace: TracebackType | None) -> None:
        """Take the tool's frames off the traceback: they would keep alive what the target let go."""
        if not self.watching or self._stripped:
            return
        if trace is None or _is_tools(trace.tb_frame):
            return  # Still in the tool's own frames.
        last, inner = trace, trace.tb_next
        while inner is not None and not _is_tools(inner.tb_frame):
            last, inner = inner, inner.tb_next
        if inner is None:
            return
        self._stripped = True
        while inner is not None and _is_tools(inner.tb_frame):
            inner = inner.tb_next
        last.tb_next = inner  # What a signal's real handler did stays.

    def raised(self, frame: FrameType, exception: BaseException) -> None:
        if self.on_raised is None or self.watching or not self._stack or self._stack[-1] != id(frame):
            return
        # What a callee raises within itself, and handles there, is no answer of the target's.
        if self.at_own():
            self.on_raised(frame, exception)

    def instruction(self, frame: FrameType, offset: int) -> Arriving | None:
        if self.watching or not self._stack:
            return None
        run = 0
        if self.names is not None:
            # The same code may also run beneath frames that are not own, or not be known to run yet.
            if not self.at_own() or self._stack[-1] != id(frame):
                return None
            run = self.stack.serials[-1]
        code = frame.f_code.co_code[offset]
        site = self.identifier.instruction(frame, offset, opname[code], self.step, run)
        if site is not None and self.handler is not None:
            self.handler.at(site, "before", frame, self)
        sent, self.sent = self.sent, None
        return sent

    # ---- raising ----

    def fire(
        self, strike: Callable[[], None], site: Site, phase: Phase, frame: FrameType, more: int = 0
    ) -> None:
        """Let `strike` raise here, and from now on watch the unwinding.

        Args:
            strike: raises the fault. It must not keep it in a variable: the traceback holds its frame,
                and the exception would hold itself. It returns where a real signal's handler does.
            more: how often the same call fails again if it is made again; below zero, always.
        """
        path = self._path_to_fault(frame)
        if self.ledger is not None:
            if not self.looked:
                self.look_before_fault(frame, site, phase)
            self.ledger.after_fault = True
        # The caller's line is in the traceback on every interpreter; the callee's frame is not.
        place = frame.f_back if site.kind == "python" and frame.f_back is not None else frame
        handled = sys.exc_info()[1]
        self.context_at_fault = id(handled) if handled is not None else 0
        del handled
        self.fault = self.see_fault(place, path)
        self.note(f"fault {phase} {site.callee}")
        self.watching = True
        self._guard = 0
        self._open.clear()
        self._open_c.clear()
        if site.kind == "python":
            # Its end is not reported on 3.11, and the next frame may lie at the same address.
            self._pop(id(frame))
        self.watch.begin(path)
        if site.kind == "python" and site.callee.endswith(".__init__"):
            self.watch.remember_half_made(frame)
        self._more, self._strike, self._again = more, strike, (site.kind, phase)
        self._again_at = (id(place.f_code), place.f_lasti)
        self._await_second()
        self.backend.hear_threads(self.watch)
        if self.lines is not None:
            self.lines.on = True
        self.backend.before_raise(frame)
        strike()

    def follow_lines(self, modules: Sequence[str]) -> None:
        """Note the lines of modules (globs) that run from the fault on; to be asked before `install`."""
        if modules:
            self.lines = FaultLines(modules)
            self.backend.hear_lines(self.lines)

    def see_fault(self, place: FrameType, path: Path) -> FaultSeen:
        """What is to be known later of a fault that comes now, at the line of `place`."""
        return FaultSeen(
            f"{place.f_code.co_filename}:{place.f_lineno}",
            place.f_code,
            place.f_lineno or 0,
            path,
            self.step,
            time.perf_counter(),
            sequence=self.ledger.next_sequence() if self.ledger is not None else 0,
            own=self._own,
        )

    def catch_up(self, frame: FrameType) -> bool:
        """Bring the stack up to date, after a time in which nothing was heard, and see what came in it.

        Only one call can have been made in it, by the innermost own frame; what came is that frame's.

        Args:
            frame: what runs now. It may be one that was called meanwhile, and has done nothing yet.

        Returns:
            Whether the target is still on the stack.
        """
        running: set[int] = set()
        place: FrameType | None = frame
        while place is not None:
            running.add(id(place))
            place = place.f_back
        while self._stack and self._stack[-1] not in running:
            self._pop(self._stack[-1])
        if not self._stack:
            return False
        self._open_c.clear()
        if self.ledger is not None:
            begun = self._steps.find(~self._stack[-1]) is not None
            number = self.step if begun else self.step + 1
            path = self.stack.path(frame)
            if self.ledger.look(lambda: path, number, cost="all" if self.costly else "cheap"):
                self._steps.number = number
            self.looked = False
        return True

    def begin_unheard(self, frame: FrameType) -> None:
        """Put those frames on the stack."""
        for one in self.unheard(frame):
            self.stack.push(one)

    def unheard(self, frame: FrameType) -> list[FrameType]:
        """The frames that have begun since the stack was last known, down to `frame`."""
        new: list[FrameType] = []
        place: FrameType | None = frame
        while place is not None and id(place) != self._stack[-1]:
            new.append(place)
            place = place.f_back
        return new[::-1]

    def _await_second(self) -> None:
        """From here on, the release that the case names fails too."""
        second = self.watch.second = self.second
        if second is None:
            return
        second.objects += [one for name, one in self._steps.followed if name == second.name]

        def before_strike(frame: FrameType) -> None:
            self._stripped = False
            self.backend.before_raise(frame)

        second.before_strike = before_strike

    def _fail_again(self, kind: str, phase: Phase, caller: FrameType | None, frame: FrameType) -> None:
        """The call that failed is made again, while the fault is on its way or after it was handled."""
        if caller is None or self._again != (kind, phase):
            return
        if (id(caller.f_code), caller.f_lasti) == self._again_at:
            self._more -= 1
            self.note("the fault again")
            self.backend.before_raise(frame)
            self._strike()

    def look_before_fault(self, frame: FrameType, site: Site, phase: Phase) -> None:
        """Look at what there is where a fault is about to come."""
        if self.ledger is None:
            return
        path = self._path_to_fault(frame)
        if site.kind == "python" and phase == "before":
            path = path[:-1]  # The callee's frame is there, but none of its code has run.
        if self.dense:
            self.ledger.look(lambda: path, self.step, states=False)
        # What only this look shows came at some time within the step: of which layer beneath the target's
        # own call it is, is not known, so it is charged to that call.
        self.ledger.look(lambda: path[: self._own + 1], self.step, cost="all" if self.costly else "cheap")

    def _path_to_fault(self, frame: FrameType) -> Path:
        path = self.stack.path(frame)
        return path if self._pseudo is None else (*path, self._pseudo)

    def note(self, text: str) -> None:
        self.timeline.append((time.perf_counter() - self._started, text))

    # ---- the stack ----

    def _from_outside(self, frame: FrameType, code: CodeType) -> None:
        if is_target_frame(frame):
            self.stack.push(frame)
            if self.names is not None:
                self.names.fit(frame)
            name = frame_name(frame)
            if name not in self.roots:
                self.roots.append(name)
            self.watch.known.add(id(first_argument(frame)))
        elif self.watching:
            self.watch.call(frame, code)

    def adopt(self, frame: FrameType) -> None:
        """Take a frame that runs already for the target's own: its block begins here."""
        self.stack.push(frame)
        self.roots.append(frame_name(frame))
        self.watch.known.add(id(first_argument(frame)))

    def is_root(self, frame: FrameType) -> bool:
        """Whether `frame`, called now, is the target's own, and no fault is on its way yet."""
        if self.watching:
            return False
        return is_target_frame(frame) or (
            self.names is not None and not self._guard and self.at_own() and self._is_own(frame)
        )

    def _is_own(self, frame: FrameType) -> bool:
        """Whether a frame is own by its name. What the collector calls is nobody's."""
        names = self.names
        return (
            names is not None and names.fit(frame) and not is_callback_of_collection(frame, self._callbacks)
        )

    def _enter(self, frame: FrameType) -> None:
        """An own frame calls another."""
        self._set_own(len(self._stack))
        if is_constructor(frame):
            self.watch.known.add(id(first_argument(frame)))

    def _go_on(self, frame: FrameType) -> None:
        """A generator or coroutine goes on, maybe as an own frame."""
        if not self._guard and len(self._stack) == self._reach and self._is_own(frame):
            self._set_own(len(self._stack))

    def _set_own(self, number: int) -> None:
        self._own, self._reach = number, number + 1

    def _at_end(self, site: Site, step: OpenStep) -> Site:
        """The site of a call that ends, with the number that it ends with."""
        number = self._steps.number_of_end(step)
        return site if site.step == number else replace(site, step=number)

    def _pop(self, identity: int, *, ended: bool = True) -> None:
        self.stack.pop(identity, ended=ended)
        if self._guard or self.names is not None:
            left = len(self._stack)
            if left < self._guard:
                self._guard = 0
            if left < self._own:
                self._set_own(left or 1)


def _is_tools(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("faultinject.")


def _c_module(function: object) -> str:
    return callee_name(function).partition(":")[0]
