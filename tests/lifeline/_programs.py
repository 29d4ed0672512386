"""Programs whose processes report to a test: ``python -m tests.lifeline._programs NAME ADDRESS ...``."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import multiprocessing
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing.shared_memory import SharedMemory
from typing import Any, NoReturn

from engine import lifeline
from engine.lifeline._link import current_link

MODULE = "tests.lifeline._programs"
PROGRAMS: dict[str, Callable[..., None]] = {}


def program(function: Callable[..., None]) -> Callable[..., None]:
    PROGRAMS[function.__name__] = function
    return function


def tell(address: str, text: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as telling:
        telling.connect(b"\0" + address.encode())
        telling.send(text.encode())


def say(address: str, role: str, text: str) -> None:
    tell(address, f"said {role} {text}")


def report(address: str, role: str) -> None:
    tell(address, f"here {role} {os.getpid()}")


def say_ticket(address: str) -> None:
    say(address, "ticket", str(current_link().own_ticket))


def pause(address: str, role: str) -> NoReturn:
    report(address, role)
    while True:
        signal.pause()


def started(address: str, role: str, *more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", MODULE, role, address, *more])


# What a child is busy with.


def sleeping(address: str, role: str) -> None:
    pause(address, role)


def deaf(address: str, role: str) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pause(address, role)


def receiving(address: str, role: str) -> None:
    # It holds both ends: no death closes the other.
    ours, _theirs = socket.socketpair()
    report(address, role)
    ours.recv(1)


def holding_the_lock(address: str, role: str) -> None:
    # A signal that is let through would wake it.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    report(address, role)
    ctypes.PyDLL(None).sleep(60)


class Imports:
    """When unpickled, imports a module that sleeps in C and does not give the interpreter's lock back."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return importlib.import_module, ("tests.lifeline._slow_import",)


def importing(address: str, role: str, _: Any = None) -> None:
    os.environ["LIFELINE_TEST"] = f"{address} {role}"
    importlib.import_module("tests.lifeline._slow_import")


BUSY = {f.__name__: f for f in (sleeping, deaf, receiving, holding_the_lock, importing)}


@program
def parent(address: str, method: str, busy: str = "sleeping", *options: str) -> None:
    """A caller with one child."""
    if "bare" not in options:
        lifeline.watch_multiprocessing()
    context: Any = multiprocessing.get_context(method)
    arguments: tuple[Any, ...] = (address, "child")
    if busy == "importing" and method != "fork":
        os.environ["LIFELINE_TEST"] = f"{address} child"
        arguments += (Imports(),)
    context.Process(target=BUSY[busy], args=arguments).start()
    if "bare" not in options:
        say_ticket(address)
    for option in options:
        if option == "exits":
            # When the test says so: by a signal whose handler leaves as an embedding host does.
            signal.signal(signal.SIGUSR1, lambda *_: os._exit(3))
    pause(address, "parent")


def engine(address: str, method: str) -> None:
    context: Any = multiprocessing.get_context(method)
    for role in ("worker0", "worker1"):
        context.Process(target=sleeping, args=(address, role)).start()
    pause(address, "engine")


@program
def caller(address: str, method: str, below: str = "") -> None:
    """A caller, its engine, and the two workers of that, which may be started in another way."""
    lifeline.watch_multiprocessing()
    context: Any = multiprocessing.get_context(method)
    context.Process(target=engine, args=(address, below or method)).start()
    say_ticket(address)
    pause(address, "caller")


# What a child is that was started by hand.


@program
def stranger(address: str, role: str = "stranger") -> None:
    """Knows nothing of lifelines."""
    pause(address, role)


@program
def armed(address: str, role: str = "armed", grace: str = "0") -> None:
    lifeline.arm(grace=float(grace))
    pause(address, role)


@program
def registering(address: str) -> None:
    """A caller whose child by `subprocess` does nothing for itself."""
    lifeline.register_child(started(address, "stranger").pid)
    say_ticket(address)
    pause(address, "parent")


@program
def beginning_from_a_frame_that_holds_something(address: str) -> None:
    """Says whether what the frame held went with it, though no guardian was there at first."""
    gone: list[str] = []

    class Held:
        def __del__(self) -> None:
            gone.append("gone with its frame")

    def frame() -> Held:
        held = Held()
        lifeline.register_child(started(address, "stranger").pid)
        return held

    gc.collect()
    gc.disable()
    frame()
    say_ticket(address)
    say(address, "held", ", ".join(gone))
    pause(address, "parent")


@program
def not_registering(address: str) -> None:
    started(address, "stranger")
    pause(address, "parent")


@program
def registering_another(address: str) -> None:
    """Names a living process by its pid, with a start time that was another's."""
    child = started(address, "stranger")
    link = current_link()
    link.ask("child", child.pid, link.me[1] - 1)
    say_ticket(address)
    pause(address, "parent")


@program
def late(address: str, how: str) -> None:
    """A parent whose child looks for it only when it is dead."""
    parent_is_dead, _ours = os.pipe()
    environment = {**os.environ, **lifeline.child_environment()}
    lifeline.start()
    subprocess.Popen(
        [sys.executable, "-m", MODULE, "looks_late", address, str(parent_is_dead), how],
        pass_fds=[parent_is_dead], env=None if how == "never" else environment,
    )  # fmt: skip
    pause(address, "parent")


@program
def looks_late(address: str, descriptor: str, how: str) -> None:
    report(address, "late")
    os.read(int(descriptor), 1)
    if how == "never":
        say(address, "late", "alive")
    elif how == "arms":
        lifeline.arm()
        say(address, "late", "armed, and alive")
    else:
        # Its own thread cannot run from here on.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        with contextlib.suppress(lifeline.LifelineError):
            lifeline.arm(grace=0.2)
        ctypes.PyDLL(None).sleep(60)
    signal.pause()


@program
def graceful(address: str, role: str = "graceful", how: str = "orderly", name: str = "") -> None:
    """Asked for a grace; says what it finds when it is told to end."""

    def told(*_: object) -> None:
        say(address, role, "there" if not name or os.path.exists(name) else "gone")
        if how == "orderly":
            os._exit(0)

    signal.signal(signal.SIGTERM, told)
    lifeline.arm(grace=1.0)
    if how == "locked":
        holding_the_lock(address, role)
    pause(address, role)


@program
def with_graceful(address: str, how: str, name: str = "") -> None:
    if name:
        own_segment(name)
    lifeline.start()
    child = [sys.executable, "-m", MODULE, "graceful", address, "graceful", how, name and f"/dev/shm/{name}"]
    environment = {**os.environ, **lifeline.child_environment()}
    lifeline.register_child(subprocess.Popen(child, env=environment).pid)
    say_ticket(address)
    pause(address, "parent")


# Threads.


@program
def launching_thread(address: str, how: str) -> None:
    """Its child is started by a thread that ends: with a lifeline, or the kernel's parent-death signal."""
    up, ready = os.pipe()

    def launch() -> None:
        if how == "lifeline":
            lifeline.watch_multiprocessing()
        context = multiprocessing.get_context("fork")
        context.Process(target=child_of_a_thread, args=(address, how, ready)).start()
        os.read(up, 1)

    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
    if how == "lifeline":
        say_ticket(address)
    pause(address, "parent")


def child_of_a_thread(address: str, how: str, ready: int) -> None:
    if how == "signal":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    report(address, "child")
    os.write(ready, b"x")
    signal.pause()


# Names.


def own_segment(name: str) -> None:
    descriptor = os.open(f"/dev/shm/{name}", os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    os.close(descriptor)
    lifeline.own_name("shared_memory", f"/{name}")


@program
def naming(address: str, name: str, directory: str, then: str = "") -> None:
    """Makes a segment, a socket and a file, and owns them all."""
    own_segment(name)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"{directory}/s")
    lifeline.own_name("socket", f"{directory}/s")
    with open(f"{directory}/f", "w") as file:
        file.write("x")
    lifeline.own_name("file", f"{directory}/f")
    if then == "disowns":
        lifeline.disown_name("shared_memory", name)
        lifeline.disown_name("socket", f"{directory}/s")
        lifeline.disown_name("file", f"{directory}/f")
        lifeline.register_child(started(address, "stranger").pid)
    say_ticket(address)
    pause(address, "parent")


@program
def expecting(address: str, directory: str) -> None:
    """Tells of two sockets before it binds one of them, and of a third that is there already."""
    for name in ("bound", "never"):
        lifeline.expect_socket(f"{directory}/{name}")
    for name in ("bound", "other's"):
        socket.socket(socket.AF_UNIX).bind(f"{directory}/{name}")
    try:
        lifeline.expect_socket(f"{directory}/other's")
    except FileExistsError as error:
        say(address, "parent", str(error).partition(": ")[2])
    with open(f"{directory}/never", "w") as file:
        file.write("no socket")
    pause(address, "parent")


@program
def starting_a_guardian(address: str) -> None:
    lifeline.start()
    say_ticket(address)
    pause(address, "parent")


# What an armed process starts and tells nobody of.


@program
def with_untold(address: str, how: str) -> None:
    lifeline.watch_multiprocessing()
    multiprocessing.get_context("spawn").Process(target=untold, args=(address, how)).start()
    say_ticket(address)
    pause(address, "parent")


def untold(address: str, how: str) -> None:
    command = f"{sys.executable} -m {MODULE} stranger {address} stranger"
    if how == "cleared":
        keep = {k: v for k, v in os.environ.items() if k != "ENGINE_LIFELINE"}
        subprocess.Popen(command.split(), env=keep)
    elif how == "shell":
        # The shell has gone when this returns: nobody is that one's parent any more.
        subprocess.run(["sh", "-c", f"{command} &"], check=True)
    else:
        subprocess.Popen(command.split())
    pause(address, "armed")


@program
def with_forker(address: str, descriptor: str) -> None:
    lifeline.watch_multiprocessing()
    multiprocessing.get_context("fork").Process(target=forks_and_forks, args=(address,)).start()
    os.close(int(descriptor))
    pause(address, "parent")


def forks_and_forks(address: str) -> None:
    report(address, "child")
    for _ in range(300):
        if os.fork() == 0:
            signal.pause()
    signal.pause()


@program
def with_tracker(address: str) -> None:
    lifeline.watch_multiprocessing()
    multiprocessing.get_context("fork").Process(target=makes_a_segment, args=(address,)).start()
    pause(address, "parent")


def makes_a_segment(address: str) -> None:
    segment = SharedMemory(create=True, size=16)
    say(address, "segment", segment.name)
    pause(address, "child")


# The guardian gone.


@program
def twice(address: str) -> None:
    """Registers a child, and another when it is told to."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    lifeline.register_child(started(address, "stranger", "first").pid)
    say_ticket(address)
    report(address, "parent")
    signal.sigwait([signal.SIGUSR1])
    lifeline.register_child(started(address, "stranger", "second").pid)
    say(address, "again", "done")
    signal.pause()


# Without descriptors, without a start method, in a fork.


@program
def full(address: str) -> None:
    """Has no file descriptor left when it registers a child, and has again some when it registers another."""
    lifeline.start()
    first = started(address, "stranger", "first")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        lifeline.register_child(first.pid)
        text = "registered"
    except lifeline.LifelineError as error:
        text = str(error)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    say(address, "full", text)
    lifeline.register_child(first.pid)
    say_ticket(address)
    pause(address, "parent")


@program
def forking(address: str) -> None:
    """Forks by hand; the fork knows of no lifeline but starts a child and registers it."""
    lifeline.start()
    link = current_link()
    pipe = "" if link._pipe is None else os.readlink(f"/proc/self/fd/{link._pipe[1]}")
    say_ticket(address)
    if os.fork() == 0:
        held = []
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                held.append(os.readlink(f"/proc/self/fd/{name}"))
        say(address, "pipe", "none" if not pipe else "held" if pipe in held else "closed")
        lifeline.register_child(started(address, "stranger").pid)
        pause(address, "fork")
    pause(address, "parent")


@program
def without_init(address: str, method: str, name: str) -> None:
    """Reaps nobody, and is the parent of all whose parent has died, as the first process of a container."""
    ctypes.CDLL(None).prctl(36, 1)
    subprocess.Popen([sys.executable, "-m", MODULE, "in_a_container", address, method, name])
    pause(address, "first")


@program
def in_a_container(address: str, method: str, name: str) -> None:
    own_segment(name)
    lifeline.watch_multiprocessing()
    multiprocessing.get_context(method).Process(target=engine, args=(address, method)).start()
    pause(address, "caller")


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
