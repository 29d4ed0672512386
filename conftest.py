"""The suite runs under its own leak check.

After each test: no child process, no thread and no block in ``/dev/shm`` that was not there before it.
After each module: no descriptor more. After the whole run, looked at from the process that started it: no
block that nobody holds, and no process of the run, whoever its parent is now.

A name in ``/dev/shm`` says nothing of who made it, and other workers of pytest-xdist, or other programs,
make some at the same time. So a test answers for the blocks that its own process tree still holds; those
that nobody holds are shown at the end of the whole run, and fail it where it has the machine to itself
(``CI`` is set).
"""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from faultinject.facts import Item
from faultinject.probes import ProbeSet, Snapshot, diff, load_probes

pytest_plugins = ["pytester"]
"""For the tests of our own plugin; pytest takes this in the topmost conftest only."""

Left = dict[str, Item]

GRACE_S = 3.0
"""How long what is on its way out (an exiting thread, a dying child) may take. Not waited for otherwise."""

MARK = "FAULTINJECT_TEST_RUN"
"""Set to a value of its own in each run and inherited by whatever the run starts, so that it is found again
when its parent has died."""

SHOWN = 20
HELPERS = (b"multiprocessing.resource_tracker", b"multiprocessing.forkserver")

os.environ.setdefault(MARK, uuid.uuid4().hex)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's background job begins so; what the tests start would inherit it, and take no Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    # Begun under nohup: what the tests start would outlive a hang-up that is meant to end it.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def leaves_nothing_behind() -> Iterator[None]:
    """Fails a test that leaves a process, a thread or shared memory."""
    probes = ProbeSet(load_probes(["processes", "threads", "shared memory"], plugins=False))
    before = look(probes)
    yield
    report("this test", settled(lambda: since(before, probes)))


@pytest.fixture
def alone_with_shared_memory() -> Iterator[None]:
    """One test at a time of those that count names in ``/dev/shm``, which belong to the whole machine."""
    with open(os.path.join(tempfile.gettempdir(), f"faultinject-tests-{os.getuid()}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(autouse=True, scope="module")
def leaves_no_descriptors_behind() -> Iterator[None]:
    """Fails the last test of a module whose tests leave descriptors open."""
    probes = ProbeSet(load_probes(["fds"], plugins=False))
    before = look(probes)
    yield
    report("the tests of this module", settled(lambda: since(before, probes)))


def look(probes: ProbeSet) -> Snapshot:
    taken = probes.snapshot("all")
    assert not taken.errors, taken.errors
    return taken


def since(before: Snapshot, probes: ProbeSet) -> Left:
    """What has come since `before` and is this process's to answer for."""
    added, _ = diff(before, look(probes))
    blocks = {key: item for probe, key, item in added if probe == "shared memory"}
    found = {f"{probe} {key}": item for probe, key, item in added if probe != "shared memory"}
    if blocks:
        holders = holders_of(blocks)
        own = process_tree()
        for key, item in blocks.items():
            if holders[key] & own:
                found[key] = item
    return found


def settled(look_again: Callable[[], Left]) -> Left:
    """What is still left after the grace time; returns at once when nothing is."""
    left = look_again()
    if left:
        # An exception that a test caught keeps its frames, and what they hold, in a cycle.
        gc.collect()
        deadline = time.monotonic() + GRACE_S
        while (left := look_again()) and time.monotonic() < deadline:
            time.sleep(0.01)
    return left


def report(who: str, left: Left) -> None:
    if left:
        pytest.fail(f"{who} left behind: {', '.join(i.label for i in left.values())}", pytrace=False)


def holders_of(blocks: Left) -> dict[str, set[int]]:
    """Which processes have each block mapped or open, by the block's key."""
    found: dict[str, set[int]] = {key: set() for key in blocks}
    paths = {item.label: key for key, item in blocks.items()}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        held: set[str] = set()
        try:
            held.update(line.split(maxsplit=5)[-1] for line in (process / "maps").read_text().splitlines())
            held.update(os.readlink(link) for link in (process / "fd").iterdir())
        except OSError:
            pass  # It has ended, or is another user's: it holds nothing of ours.
        for path in held & paths.keys():
            found[paths[path]].add(int(process.name))
    return found


def process_tree() -> set[int]:
    probes = ProbeSet(load_probes(["processes"], plugins=False))
    return {os.getpid(), *(int(key.partition(":")[0]) for key in look(probes)["processes"])}


class WholeRun:
    """The check of the whole run, in the process that started it and after all workers have ended."""

    def __init__(self) -> None:
        self.probes = ProbeSet(load_probes(["shared memory"], plugins=False))
        self.before = look(self.probes)
        self.left: Left = {}
        self.own_machine = "CI" in os.environ

    def blocks(self) -> Left:
        added, _ = diff(self.before, look(self.probes))
        blocks = {key: item for _, key, item in added}
        holders = holders_of(blocks) if blocks else {}
        return {key: item for key, item in blocks.items() if not holders[key]}

    def processes(self) -> Left:
        mark = f"{MARK}={os.environ[MARK]}".encode()
        found: Left = {}
        for process in Path("/proc").iterdir():
            if not process.name.isdigit() or int(process.name) in (os.getpid(), os.getppid()):
                continue
            try:
                if mark not in (process / "environ").read_bytes().split(b"\0"):
                    continue
                command = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if not any(helper in command for helper in HELPERS):
                shown = command.replace(b"\0", b" ").decode(errors="replace").strip()
                found[process.name] = Item(label=f"process {process.name} ({shown[:120]})")
        return found

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        processes = settled(self.processes)
        blocks = settled(self.blocks)
        self.left = {**processes, **blocks}
        if (processes or (blocks and self.own_machine)) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.left:
            terminalreporter.section("left behind by the whole run", red=True)
            labels = [item.label for item in self.left.values()]
            for label in labels[:SHOWN]:
                terminalreporter.line(label)
            if len(labels) > SHOWN:
                terminalreporter.line(f"and {len(labels) - SHOWN} more")


def pytest_configure(config: pytest.Config) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(WholeRun(), "leak check of the whole run")
