"""Measure the rows of rows.toml without faultinject, so that its answers can be compared with something.

    python verify.py [--verbose] [ID ...]

For each row a fresh interpreter constructs the row's target with one inner call patched to raise, and
counts what is there while the exception is held and after it was dropped and collected. It also
follows, with a profile function, which frame received what, and names the innermost one on the stack
at the fault: the frame in charge. Exits 1 if a row differs from the table.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from pkgutil import resolve_name
from types import FrameType
from typing import Any
from unittest import mock

HERE = Path(__file__).parent
_TABLE = tomllib.loads((HERE / "rows.toml").read_text())["row"]
ROWS: dict[str, dict[str, Any]] = {row["id"]: row for row in _TABLE}
TARGETS = tomllib.loads((HERE / "pyproject.toml").read_text())["tool"]["faultinject"]["targets"]
KINDS = ("fds", "processes", "zombies", "threads", "segments")
SETTLE_S = 2.0
EXIT_S = 8.0

THREAD_START = "_start_joinable_thread" if sys.version_info >= (3, 13) else "_start_new_thread"
"""What threading calls to start a thread."""

# Where the inner call is looked up, by row. Rows that ask for every point have none.
PATCHES = {
    "M01": "multiprocessing.process.BaseProcess.start",
    "M05": f"threading.{THREAD_START}",
    "M06": "os.fork",
    "M08": "multiprocessing.util.spawnv_passfds",
    "M11": "mmap.mmap",
    "M14": "mmap.mmap",
    "M15": "mmap.mmap",
    "M17": "_multiprocessing.SemLock",
    "M18": "multiprocessing.connection._ConnectionBase.recv",
    "M20": "multiprocessing.process.BaseProcess.start",
    "M23": f"threading.{THREAD_START}",
    "M24": "processes.Sink.fileno",
    "M26": "io.TextIOWrapper",
    "M29": "socket.socket.bind",
    "M31": "sockets.load_settings",
    "M34": "tempfile._TemporaryFileWrapper",
    "M36": "zlib.compressobj",
    "M39": "zipfile._EndRecData",
    "M41": "logging.FileHandler._open",
    "M43": "socket.socket.listen",
    "M44": "asyncio.tasks.sleep",
    "M46": "loops.quiet_protocol",
    "M50": "socket.socketpair",
    "N1": "shared.fill",
    "N2": "shared.Visitor.greet",
    "N3": "sockets.load_settings",
    "N4": "sockets.load_settings",
}

# What the standard library imports in the middle of these constructors: imported first, so that the
# profile function does not follow an import.
IMPORTED_LATE = (
    "encodings.idna",
    "encodings.utf_8",
    "logging.handlers",
    "multiprocessing.dummy",
    "multiprocessing.managers",
    "multiprocessing.popen_fork",
    "multiprocessing.popen_spawn_posix",
    "multiprocessing.resource_tracker",
    "multiprocessing.synchronize",
)

Seen = dict[tuple[str, str], str]


def snapshot() -> Seen:
    """What is there now: descriptors, direct children, threads, names of shared memory."""
    seen: Seen = {}
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the descriptor of the listing itself is gone by now
            seen["fds", descriptor] = os.readlink(f"/proc/self/fd/{descriptor}")
    for thread in os.listdir("/proc/self/task"):
        seen["threads", thread] = ""
        with contextlib.suppress(OSError):
            for child in Path(f"/proc/self/task/{thread}/children").read_text().split():
                status = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
                seen["zombies" if status == "Z" else "processes", child] = ""
    for name in os.listdir("/dev/shm"):
        seen["segments", name] = ""
    return seen


def added(before: Seen) -> dict[tuple[str, str], str]:
    return {key: text for key, text in snapshot().items() if before.get(key) != text}


def counts(before: Seen) -> dict[str, int]:
    new = added(before)
    return {kind: number for kind in KINDS if (number := sum(key[0] == kind for key in new))}


def settled(before: Seen, expected: dict[str, int]) -> dict[str, int]:
    """The counts, as soon as they are as expected, or when the time to settle is over."""
    end = time.monotonic() + SETTLE_S
    while (now := counts(before)) != expected and time.monotonic() < end:
        time.sleep(0.02)
    return now


def qualname(frame: FrameType) -> str:
    return f"{frame.f_globals.get('__name__')}:{frame.f_code.co_qualname}"


class Receivers:
    """Which frames received what: a frame receives a thing when a call it made, inside which the
    thing came to life, returns."""

    def __init__(self, before: Seen, root: FrameType) -> None:
        self.known = dict(before)
        self.by: dict[tuple[str, str], list[FrameType]] = {}
        self.root = root

    def hook(self, frame: FrameType, event: str, _: object) -> None:
        now = snapshot()
        for key in now.keys() - self.known.keys():
            # First seen as a call begins or a C call ends: the running frame, else its caller, has it.
            holder = frame.f_back if event == "call" else frame
            if holder is not None:
                self.by[key] = [holder]
        self.known = now
        if event == "return" and frame.f_back is not None:
            for frames in self.by.values():
                if frame in frames:
                    frames.append(frame.f_back)

    def charge(self, stack: list[FrameType]) -> dict[tuple[str, str], str]:
        charged = {}
        for key, frames in self.by.items():
            if key in self.known:
                charged[key] = next((qualname(frame) for frame in stack if frame in frames), "?")
        return charged


def fault(name: str) -> BaseException:
    kind, _, code = name.partition(":")
    if code:
        return OSError(getattr(errno, code), os.strerror(getattr(errno, code)))
    if kind == "asyncio.CancelledError":
        return asyncio.CancelledError()
    return getattr(__import__("builtins"), kind)("injected")  # type: ignore[no-any-return]


def resolve(text: Any) -> Any:
    return resolve_name(text[1:])() if isinstance(text, str) and text.startswith("@") else text


@contextlib.contextmanager
def patched(
    row: dict[str, Any], receivers: list[Receivers], report: dict[str, Any]
) -> Iterator[BaseException]:
    """Make the row's inner call raise where its caller and its count match, once."""
    holder, _, attribute = PATCHES[row["id"]].rpartition(".")
    original = getattr(resolve_name(holder), attribute)
    error = fault(row["faults"][0])
    calls = 0

    def raising(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        caller = sys._getframe(1)
        if fnmatchcase(qualname(caller), row.get("caller", "*")) and receivers and "stack" not in report:
            calls += 1
            if calls == row.get("occurrence", 1):
                receivers[0].hook(caller, "c_return", None)
                sys.setprofile(None)
                stack: list[FrameType] = []
                frame: FrameType | None = caller
                while frame is not None and frame is not receivers[0].root:
                    stack.append(frame)
                    frame = frame.f_back
                report["stack"] = [qualname(frame) for frame in stack][::-1]
                report["charged"] = {f"{k} {n}": who for (k, n), who in receivers[0].charge(stack).items()}
                raise error
        return original(*args, **kwargs)

    with mock.patch(PATCHES[row["id"]], raising):
        yield error


def measure(row: dict[str, Any]) -> dict[str, Any]:
    table = TARGETS[row["target"]]
    target: Callable[..., Any] = resolve_name(table["callable"])
    for module in IMPORTED_LATE:
        __import__(module)
    args = [resolve(argument) for argument in table.get("args", [])]
    report: dict[str, Any] = {}
    receivers: list[Receivers] = []
    registry = len(logging._handlerList)  # type: ignore[attr-defined]
    before = snapshot()
    with patched(row, receivers, report) as error:
        caught: BaseException | None = None
        try:
            receivers.append(Receivers(before, sys._getframe()))
            sys.setprofile(receivers[0].hook)
            target(*args, **table.get("kwargs", {}))
        except BaseException as raised:
            caught = raised
        finally:
            sys.setprofile(None)
    report["raised"] = "same" if caught is error else repr(caught)
    charged = report.pop("charged", {})
    receivers.clear()
    report["held"] = settled(before, row.get("held", {}))
    left = {f"{kind} {name}" for kind, name in added(before)}
    report["gone"] = sorted(f"{kind} {name}" for kind, name in before.keys() - snapshot().keys())
    report["charged"] = dict(Counter(who for thing, who in charged.items() if thing in left))
    report["registry"] = f"{registry}->{len(logging._handlerList)}"  # type: ignore[attr-defined]
    if caught is not None:
        caught.__traceback__ = None
    caught = error = None  # type: ignore[assignment]
    gc.collect()
    report["after"] = settled(before, row.get("after", {}))
    if row["id"] == "M23":
        target(*args)
        report["again"] = counts(before)
    return report


def differs(row: dict[str, Any], report: dict[str, Any]) -> list[str]:
    wrong = [
        f"{when}: {report.get(when)} instead of {row.get(when, {})}"
        for when in ("held", "after", "again")
        if report.get(when, {}) != row.get(when, {})
    ]
    if len(report.get("gone", [])) != row.get("foreign_removed", 0) + row.get("foreign_vanished", 0):
        wrong.append(f"gone: {report.get('gone')}")
    if (report.get("raised") == "same") == ("masked_by" in row):
        wrong.append(f"raised: {report.get('raised')}")
    if report.get("exits", False) != row.get("exits", True):
        wrong.append(f"ends by itself: {report['exits']}")
    in_charge = set(report.get("charged", {}))
    if "charged_to" in row and row.get("held") and not set(row["charged_to"]) <= in_charge:
        wrong.append(f"charged to {sorted(in_charge)} instead of {row['charged_to']}")
    return wrong


def one(identity: str) -> None:
    before = snapshot()
    report = measure(ROWS[identity])
    for kind, name in added(before):
        if kind == "segments" and not name.startswith("owner_"):
            os.unlink(f"/dev/shm/{name}")  # measured; verifying leaves nothing
    print("REPORT " + json.dumps(report), flush=True)


def run(identity: str) -> dict[str, Any]:
    """Measure one row in an interpreter, a session and output files of its own.

    Not through pipes: the orphans that some rows leave would hold them open.
    """
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__, "--one", identity],
            cwd=HERE,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        try:
            exits = process.wait(timeout=EXIT_S) is not None
        except subprocess.TimeoutExpired:
            exits = False
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        output.seek(0)
        errors.seek(0)
        lines = [line for line in output if line.startswith("REPORT ")]
        report: dict[str, Any] = json.loads(lines[0][7:]) if lines else {}
        return report | {"exits": exits, "errors": errors.read()[-2000:]}


def main() -> int:
    verbose = "--verbose" in sys.argv
    bad = 0
    for identity in [name for name in sys.argv[1:] if not name.startswith("-")] or PATCHES:
        report = run(identity)
        wrong = differs(ROWS[identity], report)
        bad += bool(wrong)
        print(f"{identity} {'ok' if not wrong else 'DIFFERS'}", *wrong, sep="\n    ", flush=True)
        if verbose or wrong:
            print(json.dumps(report, indent=1))
    return bool(bad)


if __name__ == "__main__":
    if "--one" in sys.argv:
        sys.path.insert(0, str(HERE))
        one(sys.argv[-1])
    else:
        sys.exit(main())
