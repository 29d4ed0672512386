"""The steps of a target: the calls that its own frames make, numbered, and what each handed over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Literal

from faultinject.facts import Step
from faultinject.tracking._ledger import Ledger
from faultinject.tracking._names import STARTS, first_argument, frame_name, is_constructor, simple_name
from faultinject.tracking._objects import OwnedObject, acquisition_of, make_owned
from faultinject.tracking._stack import ShadowStack

_RECORDS = 4096
_COSTLY = 128
"""Steps at whose ends the costly probes look too."""


@dataclass(slots=True)
class OpenStep:
    """A step that has begun and not ended.

    Attributes:
        key: ``callee#occurrence``, the same in a recording and in the run of a case.
        gone: how many resources had gone when it began.
        own: whether the callee is an own frame, whose calls are steps in their turn.
    """

    number: int
    callee: str
    key: str
    caller: str
    file: str
    line: int
    gone: int
    own: bool


@dataclass
class Steps:
    """Numbers the calls of the target's own frames as they begin, from 1.

    A call within which others are numbered (that of another own frame, or of a C function that calls a
    constructor back) ends after them, and gets another number as it does: so numbers ascend in time, and
    what came in a lower one than a point's had been handed over when the fault came.

    Args:
        stack: the target's.
        ledger: what was acquired; `None` to number only.
        owners: step call (``callee#occurrence``) -> name of the owned object it hands over.
        products: keep the objects that steps return, to find which of them are released later.
        costly: also take the costly probes, at the end of each step.
        note: writes a line of the timeline.
        second_owners: as `owners`, for objects whose release is not judged by its being called, but may be
            failed.
        named: say in each step which own frame made the call.
    """

    stack: ShadowStack
    ledger: Ledger | None
    owners: Mapping[str, str]
    products: list[OwnedObject] | None
    costly: bool
    note: Callable[[str], None]
    second_owners: Mapping[str, str] = field(default_factory=dict)
    named: bool = False
    number: int = 0
    done: list[Step] = field(default_factory=list)
    owned: list[OwnedObject] = field(default_factory=list)
    started: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Name of a product -> the step, and its number, in which it was started."""

    followed: list[tuple[str, OwnedObject]] = field(default_factory=list)
    """What `second_owners` names."""

    def __post_init__(self) -> None:
        self._open: dict[int, OpenStep] = {}
        self._occurrences: dict[str, int] = {}

    def begin(self, caller: FrameType | None, callee: str, identity: int, *, own: bool = False) -> OpenStep:
        """A call begins.

        Args:
            identity: tells it from the others that are open.
            own: whether the callee is an own frame.
        """
        self.number += 1
        occurrence = self._occurrences[callee] = self._occurrences.get(callee, 0) + 1
        step = self._open[identity] = OpenStep(
            self.number,
            callee,
            f"{callee}#{occurrence}",
            frame_name(caller) if self.named and caller is not None else "",
            caller.f_code.co_filename if caller is not None else "",
            (caller.f_lineno or 0) if caller is not None else 0,
            len(self.ledger.gone) if self.ledger is not None else 0,
            own,
        )
        return step

    def starts(self, step: OpenStep, frame: FrameType) -> None:
        """Remember that a step starts an object that an earlier step made: it is owned from here."""
        if self.products is None or simple_name(frame) not in STARTS:
            return
        receiver = first_argument(frame)
        for product in self.products:
            if product.is_it(receiver) and product.name not in self.started:
                self.started[product.name] = (step.key, step.number)

    def find(self, identity: int) -> OpenStep | None:
        """The open step of that identity."""
        return self._open.get(identity)

    def take(self, identity: int) -> OpenStep | None:
        """The same, open no longer."""
        return self._open.pop(identity, None)

    def number_of_end(self, step: OpenStep) -> int:
        """The number of a step as it ends: another one where steps were numbered within it."""
        if step.number != self.number:
            self._keep(Step(step.number, step.callee, step.line, step.file, caller=step.caller))
            self.number += 1
            step.number = self.number
        return step.number

    def product_of(self, step: OpenStep, frame: FrameType, value: Any) -> Any:
        """What a Python function hands over as it returns `value`; an own frame hands on what others made."""
        if step.own:
            return None
        name = simple_name(frame)
        starts = name in STARTS and (step.key in self.owners or step.key in self.second_owners)
        makes = value is None and (name == "__init__" or (self.named and is_constructor(frame)))
        if starts or makes:
            return first_argument(frame)
        return None if self._is_under_construction(value, frame.f_back) else value

    def _is_under_construction(self, value: Any, frame: FrameType | None) -> bool:
        """Whether a value is the object that the target makes: one that returns itself acquires nothing."""
        own = set(self.stack.ids)
        while frame is not None and id(frame) in own:
            if value is not None and first_argument(frame) is value:
                return True
            frame = frame.f_back
        return False

    def end(self, caller: FrameType | None, step: OpenStep, product: Any) -> None:
        """A step ends, by its result or by an exception, and `caller` goes on."""
        number = self.number_of_end(step)
        ledger = self.ledger
        if ledger is not None and caller is not None:
            cost: Literal["cheap", "all"] = "all" if self.costly and number <= _COSTLY else "cheap"
            ledger.look(lambda: self.stack.path(caller), number, cost=cost)
        if ledger is not None and len(self.done) < _RECORDS:
            acquired = (
                tuple(acquisition_of(entry) for entry in ledger.live.values() if entry.step == number)
                if self.products is not None
                else ()
            )
            released = tuple((e.probe, e.key) for e, _ in ledger.gone[step.gone :] if 0 < e.step < number)
            self._keep(Step(number, step.callee, step.line, step.file, acquired, released, step.caller))
            if acquired:
                labels = ", ".join(a.item.label for a in acquired[:4])
                self.note(f"acquired in step {number} {step.callee}: {labels}")
        if product is not None and caller is not None:
            self._hand_over(step, product, caller)

    def _keep(self, step: Step) -> None:
        if self.ledger is None or len(self.done) >= _RECORDS:
            return
        place = len(self.done)
        while place and self.done[place - 1].number > step.number:
            place -= 1
        self.done.insert(place, step)

    def _hand_over(self, step: OpenStep, product: Any, caller: FrameType) -> None:
        if self.products is not None:
            owned = make_owned(step.key, step.number, product)
            if owned is not None:
                self.products.append(owned)
        name = self.owners.get(step.key)
        if name is not None:
            owned = make_owned(name, step.number, product, self.stack.path(caller))
            if owned is not None:
                self.owned.append(owned)
                self.note(f"acquired {name}")
        name = self.second_owners.get(step.key)
        if name is not None:
            owned = make_owned(name, step.number, product)
            if owned is not None:
                self.followed.append((name, owned))
