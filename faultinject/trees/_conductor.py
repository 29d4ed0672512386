"""``python -m faultinject.trees._conductor``: imports the target, runs each case as a tree beneath itself.

It is a child subreaper, so whatever is orphaned in the tree becomes its child: nothing leaves the tree by
its parent's death, and each end is seen.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from faultinject.errors import FaultinjectError, TargetError
from faultinject.runners._lane import PR_SET_CHILD_SUBREAPER
from faultinject.targets import Target
from faultinject.trees import _agent, _shm
from faultinject.trees._agent._trust import PLAN
from faultinject.trees._case import Gone, TreeCase, listen
from faultinject.trees._declared import EXIT, Roles, check_milestones
from faultinject.trees._ending import TEMPORARY, end_all
from faultinject.trees._fault import parse_tree_fault
from faultinject.trees._members import Members, identity
from faultinject.trees._messages import Failed, Farewell, Ready, Run, Setup, receive, send

_HERE = Path(__file__).resolve().parent
_SITE = str(_HERE / "_site")
_OUTPUT_SHOWN = 4000

InTheCaller = Callable[[], None]


def main() -> None:
    """Serve the sweep at the other end of a socket. In a forked caller it returns what that is to run."""
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is the sweep's to handle
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    caller = _serve(control)
    if caller is not None:
        caller()


def _serve(control: socket.socket) -> InTheCaller | None:
    setup = receive(control)
    if not isinstance(setup, Setup):
        return None
    private = setup.private and _shm.make_private()
    try:
        target = _loaded(setup)
    except TargetError as error:
        send(control, Failed(str(error), error.original))
        return None
    except FaultinjectError as error:
        send(control, Failed(str(error), error.original, usage=True))
        return None
    except BaseException as error:
        what = f"target {setup.spec.name} cannot be imported: {type(error).__name__}: {error}"
        send(control, Failed(what, traceback.format_exc()))
        return None
    # What was imported here is not looked through, and so not copied, when a caller ends: seconds a case.
    gc.collect()
    gc.freeze()
    with contextlib.suppress(OSError):
        send(control, Ready(target.version, private, target.ignore))
        order = receive(control)
        while isinstance(order, Run):
            try:
                caller = _one(order, control, target, setup, private)
            except Gone:
                break
            if caller is not None:
                return caller
            order = receive(control)
        if isinstance(order, Farewell):
            return None
    # A sweep that was killed removes nothing.
    shutil.rmtree(os.path.dirname(setup.directory), ignore_errors=True)
    return None


def _loaded(setup: Setup) -> Target:
    """The target, its milestones wrapped before anything can take a reference to what they wrap."""
    from faultinject.targets import resolve

    target = resolve(setup.spec)
    Roles(target.roles)
    check_milestones(target.milestones)
    if not setup.fresh:
        _agent.prepare(_milestones_of(target))
    if target.warm_up is not None:
        target.warm_up()
    return target


def _milestones_of(target: Target) -> list[dict[str, str]]:
    return [dict(msgspec.structs.asdict(one)) for one in target.milestones]


def _one(
    order: Run, control: socket.socket, target: Target, setup: Setup, private: bool
) -> InTheCaller | None:
    directory = tempfile.mkdtemp(prefix="c-", dir=setup.directory)
    members = Members(Roles(target.roles))
    names_before = set(_shm.sizes())
    pid = 0
    try:
        if private:
            _shm.empty()
            names_before = set()
        temporary = os.path.join(directory, TEMPORARY)
        os.mkdir(temporary, 0o700)
        log = os.path.join(directory, "output")
        with listen(directory) as listener, _taken_port(order):
            _write_plan(directory, target)
            case = TreeCase(order, members, listener, control, directory, private)
            if setup.fresh:
                process = _spawn(setup, target, directory, log, temporary)
                pid = process.pid
                process.returncode = 0  # reaped by the case
            else:
                pid = os.fork()
                if pid == 0:
                    control.close()
                    listener.close()
                    return lambda: _be_the_caller(setup, target, directory, log, temporary)
            seen = case.run(pid)
        seen = msgspec.structs.replace(seen, output=_end_of(log), runner="spawn" if setup.fresh else "zygote")
        # Of modules that were imported here; the processes tell of the others.
        send(control, msgspec.structs.replace(seen, missing=(*_agent.missing(), *seen.missing)))
    finally:
        if pid:
            end_all(members, names_before)
            members.close()
            shutil.rmtree(directory, ignore_errors=True)
    return None


def _write_plan(directory: str, target: Target) -> None:
    plan = {
        "format": 1,
        "conductor": os.getpid(),
        "started": int(identity(os.getpid())),
        "root": str(_HERE.parent.parent),
        "python": list(sys.version_info[:2]),
        "milestones": _milestones_of(target),
    }
    descriptor = os.open(os.path.join(directory, PLAN), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(msgspec.json.encode(plan))


def _environment(directory: str, temporary: str) -> dict[str, str]:
    """What brings the agent into each interpreter that is started in the tree."""
    path = os.environ.get("PYTHONPATH", "")
    return {
        "FAULTINJECT_TREE": directory,
        "PYTHONPATH": f"{_SITE}{os.pathsep}{path}" if path else _SITE,
        "TMPDIR": temporary,
    }


def _be_the_caller(setup: Setup, target: Target, directory: str, log: str, temporary: str) -> None:
    """In the forked process: run the target, then end as any interpreter does."""
    from faultinject.trees._caller import become, call

    os.setsid()
    os.environ.update(_environment(directory, temporary))
    become(log, temporary)
    _agent.arm(directory, "caller")
    try:
        call(target, setup.spec.release, _agent)
    finally:
        _agent.arrive(EXIT)


def _spawn(setup: Setup, target: Target, directory: str, log: str, temporary: str) -> subprocess.Popen[bytes]:
    with open(log, "ab") as output:
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "faultinject.trees._caller",
                setup.spec.name,
                setup.spec.release,
                os.path.abspath(setup.spec.directory),
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **target.environment, **_environment(directory, temporary)},
            start_new_session=True,
        )


@contextlib.contextmanager
def _taken_port(order: Run) -> Iterator[None]:
    """Listen at the port that a fault says is taken."""
    port = parse_tree_fault(order.fault).port if order.fault else 0
    if not port:
        yield
        return
    with socket.socket(socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET) as taken:
        if taken.family == socket.AF_INET6:
            taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        with contextlib.suppress(OSError):  # somebody has it already: that is what was asked for
            taken.bind(("", port))
            taken.listen()
        yield


def _end_of(path: str) -> str:
    with contextlib.suppress(OSError), open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _OUTPUT_SHOWN))
        return file.read().decode(errors="replace")
    return ""


if __name__ == "__main__":
    main()
