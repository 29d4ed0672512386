from __future__ import annotations

import asyncio
import errno
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from faultinject.errors import UsageError
from faultinject.faults import (
    DEFAULT_FAULTS,
    BaseFault,
    FaultSpec,
    InjectedFault,
    deliver,
    describe,
    is_injected,
    make,
    parse_fault,
    parse_faults,
    parse_second,
    parse_second_faults,
)

REAL = {
    "RuntimeError": RuntimeError,
    "MemoryError": MemoryError,
    "TimeoutError": TimeoutError,
    "AssertionError": AssertionError,
    "KeyboardInterrupt": KeyboardInterrupt,
    "SystemExit": SystemExit,
    "GeneratorExit": GeneratorExit,
    "asyncio.CancelledError": asyncio.CancelledError,
    "BaseFault": BaseFault,
    "ValueError": ValueError,
    "OSError:ENOSPC": OSError,
    "OSError:ENOENT": FileNotFoundError,
    "concurrent.futures.process:BrokenProcessPool": RuntimeError,
    "concurrent.futures.process.BrokenProcessPool": RuntimeError,
}


class TwoArguments(Exception):
    def __init__(self, one: str, two: str) -> None:
        super().__init__(one, two)


class Final(Exception):
    def __init_subclass__(cls) -> None:
        raise TypeError("Final is final")


class Impostor(Exception):
    def __new__(cls, text: str) -> Exception:  # type: ignore[misc]
        return ValueError(text)


@pytest.mark.parametrize(("name", "real"), REAL.items())
def test_an_injected_exception_is_the_real_thing_with_a_mark(name: str, real: type[BaseException]) -> None:
    spec = parse_fault(name)
    error = make(spec, "before app:open")
    assert isinstance(error, real)
    assert is_injected(error)
    assert type(error).__name__.startswith("Injected")
    assert "injected by faultinject before app:open" in str(error)
    assert spec.is_ordinary is issubclass(real, Exception)


def test_a_genuine_exception_is_not_taken_for_an_injected_one() -> None:
    assert not is_injected(RuntimeError("injected by faultinject before X"))


def test_the_class_is_made_once_and_the_exception_each_time() -> None:
    spec = parse_fault("RuntimeError")
    first, second = make(spec), make(spec)
    assert type(first) is type(second)
    assert first is not second
    assert type(first).__name__ == "InjectedRuntimeError"


@pytest.mark.parametrize("code", ["ENOSPC", "EMFILE", "ENOMEM", "EADDRINUSE", "EAGAIN"])
def test_an_oserror_carries_its_errno_and_the_systems_text(code: str) -> None:
    spec = parse_fault(f"OSError:{code}")
    error = make(spec, "after app:bind")
    assert isinstance(error, OSError)
    assert error.errno == spec.errno == getattr(errno, code)
    assert error.strerror.startswith(os.strerror(error.errno))


def test_an_injected_exception_survives_pickling_with_its_mark_and_notes() -> None:
    error = make(parse_fault("OSError:ENOSPC"))
    error.add_note("seen in a worker")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert copy.errno == errno.ENOSPC
    assert copy.__notes__ == ["seen in a worker"]


def test_a_handler_for_the_real_class_takes_it() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        raise make(parse_fault("OSError:ENOENT"))
    assert isinstance(caught.value, InjectedFault)


def test_the_default_is_one_ordinary_and_one_base_exception() -> None:
    ordinary, base = parse_faults()
    assert (ordinary.name, ordinary.is_ordinary) == ("RuntimeError", True)
    assert (base.name, base.is_ordinary) == ("KeyboardInterrupt", False)
    assert DEFAULT_FAULTS == "RuntimeError,KeyboardInterrupt"


def test_a_list_keeps_its_order_and_drops_repetitions() -> None:
    names = [s.name for s in parse_faults(" SIGTERM, RuntimeError,,OSError:EMFILE , RuntimeError")]
    assert names == ["SIGTERM", "RuntimeError", "OSError:EMFILE"]


def test_a_spec_is_a_plain_value_that_travels_as_json() -> None:
    spec = parse_fault("OSError:ENOMEM")
    assert msgspec.json.decode(msgspec.json.encode(spec), type=FaultSpec) == spec
    assert hash(spec) == hash(parse_fault("OSError:ENOMEM"))


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGUSR1"])
def test_a_signal_is_of_its_own_kind(name: str) -> None:
    spec = parse_fault(name)
    assert (spec.kind, spec.signal, spec.is_ordinary) == ("signal", signal.Signals[name], False)
    with pytest.raises(ValueError, match="is a signal"):
        make(spec)


def test_a_delivered_signal_goes_through_the_real_handler_before_deliver_returns() -> None:
    with pytest.raises(KeyboardInterrupt):
        deliver(parse_fault("SIGINT"))


def test_a_signal_delivered_from_a_thread_reaches_the_main_thread() -> None:
    seen: list[str] = []
    arrived = threading.Event()

    def handler(*_: object) -> None:
        seen.append(threading.current_thread().name)
        arrived.set()

    old = signal.signal(signal.SIGUSR1, handler)
    try:
        thread = threading.Thread(target=deliver, args=(parse_fault("SIGUSR1"),))
        thread.start()
        thread.join()
        assert arrived.wait(30)
    finally:
        signal.signal(signal.SIGUSR1, old)
    assert seen == [threading.main_thread().name]


def test_an_exception_cannot_be_delivered_as_a_signal() -> None:
    with pytest.raises(ValueError, match="not a signal"):
        deliver(parse_fault("RuntimeError"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("RuntimeErorr", "did you mean RuntimeError"),
        ("runtimeerror", "did you mean RuntimeError"),
        ("Nonsense", "faultinject faults"),
        ("a b", "unknown fault 'a b'"),
        ("..", "unknown fault"),
        ("OSError:ENOSPACE", "did you mean OSError:ENOSPC"),
        ("OSError:", "no errno is called ''"),
        ("OSError:errorcode", "no errno"),
        ("SIGTREM", "did you mean SIGTERM"),
        ("SIGKILL", "take SIGTERM"),
        ("SIGSTOP", "cannot be handled"),
        ("bool", "not an exception class"),
        ("os.path", "not an exception class"),
        ("json:JSONDecodeEror", "did you mean JSONDecodeError"),
        ("no_such_package.errors:Broken", "no module 'no_such_package.errors'"),
        ("no_such_package.Broken", "package.module:Class"),
        ("UnicodeDecodeError", "cannot be made from one message"),
        ("json:JSONDecodeError", "cannot be made from one message"),
    ],
)
def test_a_fault_that_cannot_be_had_is_refused_in_one_line(name: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_faults(name)
    message = str(caught.value)
    assert text in message
    assert name in message
    assert "\n" not in message


@pytest.mark.parametrize("text", ["", " ", ",", " , "])
def test_an_empty_list_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no fault given"):
        parse_faults(text)


@pytest.mark.parametrize(
    ("cls", "text"),
    [
        (TwoArguments, "cannot be made from one message"),
        (Final, "cannot be subclassed"),
        (Impostor, "gives a ValueError instead"),
    ],
)
def test_a_class_that_does_not_fit_is_refused(
    cls: type[Exception], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "unfit_faults", sys.modules[__name__])
    with pytest.raises(UsageError, match=text):
        parse_fault(f"unfit_faults:{cls.__name__}")


def test_a_module_that_does_not_import_keeps_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_faults.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match="raised ZeroDivisionError") as caught:
        parse_fault("broken_faults:Error")
    assert "1 / 0" in caught.value.original


def test_a_missing_torch_is_said_without_importing_it() -> None:
    # In a fresh interpreter, where nothing else can have imported torch.
    script = (
        "import sys\n"
        "from faultinject.errors import UsageError\n"
        "from faultinject.faults import parse_fault\n"
        "try:\n"
        "    spec = parse_fault('torch.OutOfMemoryError')\n"
        "    assert spec.is_ordinary\n"
        "except UsageError as error:\n"
        "    assert 'needs torch' in str(error), error\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@pytest.mark.engine
def test_torchs_own_out_of_memory_error_can_be_injected() -> None:
    script = (
        "import torch\n"
        "from faultinject.faults import make, parse_fault, is_injected\n"
        "error = make(parse_fault('torch.OutOfMemoryError'))\n"
        "assert isinstance(error, torch.OutOfMemoryError) and is_injected(error)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_the_listing_names_every_fault_of_the_catalogue_once() -> None:
    names = [entry.name for entry in describe()]
    assert len(names) == len(set(names))
    assert {"RuntimeError", "OSError:ENOSPC", "torch.OutOfMemoryError", "BaseFault", "SIGINT"} <= set(names)
    assert all(entry.summary for entry in describe())


def test_the_listing_says_rightly_which_faults_are_ordinary() -> None:
    for entry in describe():
        if entry.path and not entry.path.startswith("torch"):
            assert parse_fault(entry.name).is_ordinary is (entry.group == "ordinary")
            assert issubclass(type(make(parse_fault(entry.name))), Exception) is (entry.group == "ordinary")


@pytest.mark.parametrize(
    ("text", "release", "phase", "fault"),
    [
        ("pool.close/before/RuntimeError", "pool.close", "before", "RuntimeError"),
        ("GC freeze.gc.unfreeze/after/OSError:ENOSPC", "GC freeze.gc.unfreeze", "after", "OSError:ENOSPC"),
        ("a/b.close/before/hang", "a/b.close", "before", "hang"),
        ("pool.close/before/SIGINT", "pool.close", "before", "SIGINT"),
    ],
)
def test_a_second_fault_reads_as_it_is_written(text: str, release: str, phase: str, fault: str) -> None:
    second = parse_second(text)
    assert (second.release, second.phase, second.fault, second.text) == (release, phase, fault, text)
    assert second.gives_nothing_back == (phase == "before")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pool.close", "write NAME.METHOD/PHASE/FAULT"),
        ("pool.close/RuntimeError", "write NAME.METHOD/PHASE/FAULT"),
        ("pool.close/during/RuntimeError", "write NAME.METHOD/PHASE/FAULT"),
        ("pool.close/after/hang", "does not hang"),
        ("pool.close/before/RuntimError", "unknown fault"),
    ],
)
def test_a_second_fault_that_cannot_be_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_second(text)


def test_a_list_of_second_faults_may_hang() -> None:
    assert parse_second_faults("hang, RuntimeError,hang") == ("hang", "RuntimeError")
    with pytest.raises(UsageError, match="no second fault given"):
        parse_second_faults(" ,")
    with pytest.raises(UsageError, match="unknown fault"):
        parse_second_faults("hangs")
