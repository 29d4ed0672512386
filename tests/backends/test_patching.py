from __future__ import annotations

import asyncio
import heapq
import inspect
import io
import os
import sys
from collections.abc import Callable, Iterator
from types import FrameType

import pytest

from faultinject.backends import HARNESS
from faultinject.backends._patching import PatchingBackend
from faultinject.errors import UsageError
from tests.backends import _patched

ME = _patched.__name__


class Ear:
    """Writes down what it hears, and raises where it is told to."""

    shallow = False

    def __init__(self, raise_at: tuple[str, str] = ("", "")) -> None:
        self.heard: list[tuple[str, str]] = []
        self.stacks: list[list[tuple[str, int]]] = []
        self.raise_at = raise_at

    def standing(self, frames: list[tuple[FrameType, int]]) -> None:
        self.stacks.append([(frame.f_code.co_name, number) for frame, number in frames])

    def c_call(self, frame: FrameType, function: object) -> None:
        self._hear("before", function)

    def c_return(self, frame: FrameType, function: object) -> None:
        self._hear("after", function)

    def c_raise(self, frame: FrameType, function: object) -> None:
        self._hear("failed", function)

    def unwinding(self, trace: object) -> None: ...

    def _hear(self, phase: str, function: object) -> None:
        event = (phase, getattr(function, "__qualname__", ""))
        self.heard.append(event)
        if event == self.raise_at:
            raise ZeroDivisionError


def harness(function: Callable[[], object]) -> object:
    return function()


@pytest.fixture(autouse=True)
def the_target_is_what_harness_calls() -> Iterator[None]:
    HARNESS.add(harness.__code__)
    yield
    HARNESS.discard(harness.__code__)


def hears(name: str, use: Callable[[], object], ear: Ear | None = None) -> list[tuple[str, str]]:
    backend = PatchingBackend([name])
    ear = ear or Ear()
    backend.install(ear)
    try:
        harness(use)
    finally:
        backend.remove()
    return ear.heard


def before_and_after(name: str) -> list[tuple[str, str]]:
    return [("before", name), ("after", name)]


@pytest.mark.parametrize(
    ("name", "use", "called"),
    [
        (f"{ME}:function", lambda: _patched.function(), "function"),
        (f"{ME}:Child.own", lambda: _patched.Child().own(), "Child.own"),
        (f"{ME}:Child.inherited", lambda: _patched.Child().inherited(), "Base.inherited"),
        (f"{ME}:Child.named", lambda: _patched.Child.named(), "Base.named"),
        (f"{ME}:Base.fixed", lambda: _patched.READY.fixed(), "Base.fixed"),
        (f"{ME}:Child.opened", lambda: os.close(_patched.READY.opened("/dev/null", os.O_RDONLY)), "open"),
        (f"{ME}:READY.own", lambda: _patched.READY.own(), "Child.own"),
        (f"{ME}:Child", lambda: _patched.Child(), "Child"),
        ("os:open", lambda: os.close(os.open("/dev/null", os.O_RDONLY)), "open"),
        ("io:BytesIO", lambda: io.BytesIO(b"x").read(), "BytesIO"),
    ],
)
def test_each_kind_of_attribute_is_heard_and_put_back_as_it_was(
    name: str, use: Callable[[], object], called: str
) -> None:
    holders = (_patched, _patched.Base, _patched.Child, os, io, _patched.READY)
    before = [dict(vars(holder)) for holder in holders]
    order = [list(vars(holder)) for holder in holders]
    assert hears(name, use) == before_and_after(called)
    assert [dict(vars(holder)) for holder in holders] == before
    assert [list(vars(holder)) for holder in holders] == order


def test_an_inherited_attribute_is_deleted_again() -> None:
    backend = PatchingBackend([f"{ME}:Child.inherited"])
    backend.install(Ear())
    assert "inherited" in vars(_patched.Child)
    backend.remove()
    assert "inherited" not in vars(_patched.Child)
    assert _patched.Child().inherited() == "inherited"


def test_descriptors_stay_what_they_are_and_results_are_the_callees() -> None:
    backend = PatchingBackend([f"{ME}:Base.named", f"{ME}:Base.fixed"])
    backend.install(Ear())
    try:
        assert isinstance(vars(_patched.Base)["named"], classmethod)
        assert isinstance(vars(_patched.Base)["fixed"], staticmethod)
        assert _patched.Child.named() == "Child"
        assert _patched.Base().fixed() == "fixed"
    finally:
        backend.remove()


def test_a_wrapped_class_can_still_be_asked_and_inherited_from() -> None:
    real = _patched.Child
    backend = PatchingBackend([f"{ME}:Child"])
    backend.install(Ear())
    try:
        assert _patched.Child is not real
        assert isinstance(_patched.READY, _patched.Child)
        assert issubclass(real, _patched.Child)
        assert _patched.Child.named() == "Child"
        assert (_patched.Child.__module__, _patched.Child.__qualname__) == (ME, "Child")

        class Further(_patched.Child): ...

        assert Further.__mro__[1] is real
    finally:
        backend.remove()
    assert _patched.Child is real


def test_before_the_callee_does_not_run_and_after_it_has() -> None:
    queue: list[int] = []
    with pytest.raises(ZeroDivisionError):
        hears("heapq:heappush", lambda: heapq.heappush(queue, 1), Ear(("before", "heappush")))
    assert queue == []
    with pytest.raises(ZeroDivisionError):
        hears("heapq:heappush", lambda: heapq.heappush(queue, 1), Ear(("after", "heappush")))
    assert queue == [1]


def test_a_callee_that_fails_by_itself_is_told_of_and_its_exception_passes() -> None:
    ear = Ear()
    with pytest.raises(FileNotFoundError):
        hears("os:open", lambda: os.open("/nowhere", os.O_RDONLY), ear)
    assert ear.heard == [("before", "open"), ("failed", "open")]


def test_a_coroutine_function_stays_one_and_ends_when_it_has_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def waits() -> int:
        await asyncio.sleep(0)
        return 7

    monkeypatch.setattr(_patched, "waits", waits, raising=False)
    backend = PatchingBackend([f"{ME}:waits"])
    ear = Ear()
    backend.install(ear)
    try:
        assert inspect.iscoroutinefunction(_patched.waits)
        running = harness(lambda: drive(_patched.waits()))
    finally:
        backend.remove()
    assert running == 7
    assert [phase for phase, _ in ear.heard] == ["before", "after"]


def drive(coroutine):
    while True:
        try:
            coroutine.send(None)
        except StopIteration as end:
            return end.value


def test_what_is_not_called_beneath_the_target_is_not_heard() -> None:
    backend = PatchingBackend([f"{ME}:function"])
    ear = Ear()
    backend.install(ear)
    _patched.function()
    assert backend.unreached == (f"{ME}:function",)
    harness(lambda: _patched.function())
    backend.remove()
    _patched.function()
    assert (ear.heard, backend.unreached) == (before_and_after("function"), ())


def test_each_activation_of_a_frame_has_a_number_of_its_own() -> None:
    ear = Ear()
    hears(f"{ME}:function", _patched.make_in_loop, ear)
    helpers = [stack[-1][1] for stack in ear.stacks]
    # Two calls in each of three activations, each told of before and after.
    assert [helpers.count(number) for number in dict.fromkeys(helpers)] == [4, 4, 4]
    assert len({stack[0] for stack in ear.stacks}) == 1


def test_a_wrapper_that_the_target_keeps_goes_on_without_telling() -> None:
    ear = Ear()
    kept = []
    hears(f"{ME}:function", lambda: kept.append(_patched.function), ear)
    assert harness(lambda: kept[0]()) == 1
    assert ear.heard == []


def test_what_the_target_itself_put_there_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def mine() -> int:
        return 2

    monkeypatch.setattr(_patched, "function", _patched.function)
    hears(f"{ME}:function", lambda: setattr(_patched, "function", mine))
    assert _patched.function is mine


def test_a_second_attribute_that_cannot_be_replaced_leaves_the_first_as_it_was() -> None:
    real = _patched.function
    with pytest.raises(UsageError, match=r"io:BytesIO.read: it cannot be replaced .*attribute of a module"):
        PatchingBackend([f"{ME}:function", "io:BytesIO.read"]).install(Ear())
    assert _patched.function is real


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        ((), "none is named: give --patch module:qualname"),
        (("os.open",), "not a name of that form; write it as module:qualname"),
        (("os:opne",), r"os has no 'opne' \(did you mean open"),
        (("nowhere_at_all:f",), "nowhere_at_all cannot be imported"),
        ((f"{ME}:Child.nothing",), "Child has no 'nothing'"),
        ((f"{ME}:DEVICE",), "it is a str, which cannot be called"),
        ((f"{ME}:Base.value",), "it is a property, which has no call to wrap; leave --backend out"),
        ((f"{ME}:Base.__new__",), f"name the class instead, {ME}:Base"),
    ],
)
def test_a_name_that_cannot_be_wrapped_is_one_clear_line(names: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint) as caught:
        PatchingBackend(names)
    assert "\n" not in str(caught.value)


def test_instructions_are_refused() -> None:
    with pytest.raises(UsageError, match="sweep level opcodes without --backend patching"):
        PatchingBackend([f"{ME}:function"]).install(Ear(), lambda frame: True)


def test_no_hook_of_the_interpreter_is_held() -> None:
    hooks = (sys.getprofile(), sys.gettrace())
    with pytest.raises(ZeroDivisionError):
        hears(f"{ME}:function", lambda: _patched.function(), Ear(("before", "function")))
    assert (sys.getprofile(), sys.gettrace()) == hooks
