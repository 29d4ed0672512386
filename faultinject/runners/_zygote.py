"""``python -m faultinject.runners._zygote``: imports the target, builds nothing, and forks the lanes."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import shutil
import signal
import socket
import sys
import time
import traceback

from faultinject.errors import FaultinjectError, TargetError
from faultinject.runners._construct import has_device
from faultinject.runners._ending import end_orphans
from faultinject.runners._lane import PR_SET_CHILD_SUBREAPER, serve
from faultinject.runners._messages import Failed, Ready, receive, send
from faultinject.runners._warm import import_what_it_imports
from faultinject.targets import Target, TargetSpec, resolve

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Read the target's name from the control socket, import it, then let each lane serve its own socket."""
    control = socket.socket(fileno=int(sys.argv[1]))
    fresh = sys.argv[2] == "spawn"
    directory = sys.argv[3]
    limit = float(sys.argv[4])
    lanes = [socket.socket(fileno=int(number)) for number in sys.argv[5:]]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is the sweep's to handle
    # While it imports it hears nothing: until then it ends with the sweep, at once.
    set_process = ctypes.CDLL(None, use_errno=True).prctl
    set_process(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    set_process(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    spec = receive(control)
    if not isinstance(spec, TargetSpec):
        return
    started = time.perf_counter()
    try:
        target = load(spec)
        ready = _ready(target, time.perf_counter() - started)
    except TargetError as error:
        send(control, Failed(str(error), error.original))
        return
    except FaultinjectError as error:
        send(control, Failed(str(error), error.original, usage=True))
        return
    except BaseException as error:
        text = f"target {spec.name} cannot be imported: {type(error).__name__}: {error}"
        send(control, Failed(text, traceback.format_exc()))
        return
    # From here on the closing of the control socket says that the sweep is over.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    set_process(_PR_SET_PDEATHSIG, 0, 0, 0, 0)
    if not fresh:
        # What each case would otherwise import for itself.
        importlib.import_module("faultinject.runners._inside")
        import_what_it_imports(target, directory, limit, control)
    gc.collect()
    children: list[int] = []
    for lane in lanes:
        pid = os.fork()
        if pid == 0:
            status = 70
            try:
                control.close()
                for other in lanes:
                    if other is not lane:
                        other.close()
                serve(lane, None if fresh else target, spec, directory)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        children.append(pid)
    for lane in lanes:
        lane.close()
    # The control socket closes when the sweep ends, however it ends.
    with contextlib.suppress(OSError):
        send(control, ready)
        control.recv(1)
    until = time.monotonic() + 10.0
    while children and time.monotonic() < until:
        pid, _ = os.waitpid(-1, os.WNOHANG)
        if pid:
            with contextlib.suppress(ValueError):
                children.remove(pid)
        else:
            time.sleep(0.005)
    for pid in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    end_orphans()
    shutil.rmtree(directory, ignore_errors=True)


def load(spec: TargetSpec) -> Target:
    """The target, with everything imported that its construction will need."""
    target = resolve(spec)
    if target.warm_up is not None:
        target.warm_up()
    return target


def _ready(target: Target, seconds: float) -> Ready:
    from faultinject.probes import load_probes

    absent = tuple((probe.name, why) for probe in load_probes() if (why := probe.unavailable()) is not None)
    return Ready(
        target.version, target.is_async, target.screen, has_device(), seconds, absent, target.release
    )


if __name__ == "__main__":
    main()
