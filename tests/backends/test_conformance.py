from __future__ import annotations

import heapq
import sys

import pytest

from faultinject.backends import Backend, backend_names, check_backend, choose_backend
from faultinject.backends._samples import SAMPLE_NAMES, SAMPLES
from faultinject.errors import HookTakenError, UsageError

pytestmark = pytest.mark.skipif(
    sys.gettrace() is not None or sys.getprofile() is not None, reason="a debugger or coverage holds the hook"
)


def make(name: str) -> Backend:
    return choose_backend(name, SAMPLE_NAMES if name == "patching" else ())


@pytest.mark.parametrize("name", backend_names())
def test_each_backend_of_this_interpreter_keeps_its_promises(name: str) -> None:
    check_backend(lambda: make(name))


def test_the_samples_hold_each_kind_of_callable() -> None:
    kinds = {sample.kind for sample in SAMPLES}
    assert kinds >= {
        "a Python function", "a class", "a property", "a generator", "a coroutine", "a context manager",
        "a C function", "a C type",
    }  # fmt: skip


class Spoiled:
    """A backend with one promise broken; what it does not break, a good one does."""

    def __init__(self) -> None:
        self.good = make("")
        self.name = "spoiled"
        self.sees_implicit_calls = True

    def install(self, listener, root=None):
        self.good.install(listener, root)

    def before_raise(self, frame):
        self.good.before_raise(frame)

    def remove(self):
        self.good.remove()


class Deaf(Spoiled):
    def install(self, listener, root=None): ...


class NeverStripped(Spoiled):
    def install(self, listener, root=None):
        listener.unwinding = lambda trace: None
        self.good.install(listener, root)


class BeforeOnly(Spoiled):
    def install(self, listener, root=None):
        listener.python_return = lambda frame, value: None
        listener.c_return = lambda frame, function: None
        self.good.install(listener, root)


class StaysInstalled(Spoiled):
    def remove(self): ...


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (Deaf, "before a Python function: was not heard"),
        (BeforeOnly, "after a Python function: was not heard"),
        (NeverStripped, "before a Python function: the traceback still holds the tool's"),
    ],
)
def test_each_broken_promise_is_named(broken: type[Spoiled], complaint: str) -> None:
    with pytest.raises(AssertionError, match=f"backend 'spoiled': {complaint}"):
        check_backend(broken)


def test_a_backend_that_stays_installed_is_told_of() -> None:
    made: list[StaysInstalled] = []

    def keep() -> StaysInstalled:
        made.append(StaysInstalled())
        return made[-1]

    try:
        with pytest.raises(AssertionError, match="was heard after remove"):
            check_backend(keep)
    finally:
        for backend in made:
            backend.good.remove()
    assert sys.getprofile() is None


def test_a_weaker_backend_is_never_taken_in_silence() -> None:
    other = "setprofile" if sys.version_info >= (3, 12) else "monitoring"
    with pytest.raises(UsageError, match=f"no backend '{other}' on Python .*one of {backend_names()[0]}"):
        choose_backend(other)
    assert choose_backend("").name == backend_names()[0]
    assert choose_backend("", ("heapq:heappush",)).name == "patching"
    assert heapq.heappush.__module__ == "_heapq"


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="the hook of 3.11")
@pytest.mark.parametrize("hold", [sys.setprofile, sys.settrace])
def test_who_holds_the_hook_of_3_11_is_named_and_keeps_it(hold) -> None:
    def holder(frame, event, arg): ...

    backend = make("setprofile")
    hold(holder)
    try:
        with pytest.raises(HookTakenError, match=r"is held by .*test_conformance.*--runner spawn"):
            backend.install(None)
        backend.remove()
        assert holder in (sys.getprofile(), sys.gettrace())
    finally:
        hold(None)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the hook of 3.12")
def test_who_holds_the_tool_id_of_3_12_is_named_and_keeps_it() -> None:
    backend = make("monitoring")
    sys.monitoring.use_tool_id(4, "some profiler")
    try:
        with pytest.raises(HookTakenError, match=r"tool id 4 is held by 'some profiler'.*--runner spawn"):
            backend.install(None)
        backend.remove()
        assert sys.monitoring.get_tool(4) == "some profiler"
    finally:
        sys.monitoring.free_tool_id(4)
