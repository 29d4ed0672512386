"""What a case's own process does, however it was started: carry out one order, and leave."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import socket
import threading
import traceback
from collections.abc import Iterator

from faultinject.errors import FaultinjectError, TargetError
from faultinject.facts import Observation
from faultinject.probes import ProbeSet, load_probes
from faultinject.probes._fds import FileDescriptors
from faultinject.probes._temporary_files import TemporaryFiles
from faultinject.runners._case import CaseRun, objects_before
from faultinject.runners._messages import (
    Done,
    Failed,
    Message,
    Observed,
    Record,
    RunCase,
    Screen,
    Settings,
    encode,
)
from faultinject.runners._record import record
from faultinject.runners._screen import Screener
from faultinject.targets import Target

LARGEST = 150_000
"""Bytes of one message: what a sequenced-packet socket carries whole."""


@functools.cache
def _probe_set(probes: tuple[str, ...], without: tuple[str, ...]) -> ProbeSet:
    return ProbeSet(load_probes(probes or None, without))


def probe_set(settings: Settings) -> ProbeSet:
    """The probes that the settings ask for, those left out that cannot look here.

    The same set each time: what its probes remember from a first look is inherited by forks.
    """
    return _probe_set(settings.probes, settings.without)


def warm_up(settings: Settings) -> None:
    """Look once, in a lane, so that its cases need not look at everything for the first time."""
    probes = probe_set(settings)
    probes.snapshot("all")
    for probe in probes.probes:
        # Each case has a directory of its own for its temporary files, made after this.
        if isinstance(probe, FileDescriptors | TemporaryFiles):
            probe.forget_directory()
    objects_before()


def carry_out(order: Message, target: Target, outlet: socket.socket, runner: str) -> None:
    """Do what `order` says and send what was seen."""

    def tell(message: object) -> None:
        send_out(outlet, message)

    def report(observation: Observation) -> None:
        tell(Observed(observation))

    with failures_told(outlet):
        if isinstance(order, Record):
            tell(record(target, probe_set(order.settings), order.settings, order.release, order.twice))
        elif isinstance(order, RunCase):
            run = CaseRun(
                target,
                probe_set(order.settings),
                order.case,
                order.settings,
                order.expectation,
                report,
                runner,
            )
            run.run(retry=order.retry)
            if run.ends_at_once:
                tell(Done())
                os._exit(0)
        elif isinstance(order, Screen):
            Screener(order, target, probe_set(order.settings), report).sweep()
        tell(Done())


def send_out(outlet: socket.socket, message: object) -> None:
    """Send a message to the lane."""
    body = encode(message)
    if len(body) > LARGEST and isinstance(message, Observed):
        body = encode(Observed(_shortened(message.observation)))
    if len(body) > LARGEST:
        _send_in_parts(outlet, body)
    else:
        outlet.send(body)


@contextlib.contextmanager
def failures_told(outlet: socket.socket) -> Iterator[None]:
    """Tell the lane what keeps an order from being carried out."""
    try:
        yield
    except FaultinjectError as error:
        send_out(outlet, Failed(str(error), error.original, not isinstance(error, TargetError)))
    except Exception as error:
        text = f"faultinject failed: {type(error).__name__}: {error}"
        send_out(outlet, Failed(text, traceback.format_exc()))


def leave() -> None:
    """End this process as the interpreter would: non-daemon threads waited for, exit handlers run.

    A forked process has its parent's Python frames beneath it, which must not be unwound; hence not
    `sys.exit`. `threading._shutdown` and `atexit._run_exitfuncs` are what `Py_FinalizeEx` calls first.
    """
    with contextlib.suppress(Exception):
        threading._shutdown()  # type: ignore[attr-defined]
    with contextlib.suppress(Exception):
        atexit._run_exitfuncs()
    os._exit(0)


def _shortened(observation: Observation) -> Observation:
    import msgspec

    return msgspec.structs.replace(
        observation,
        left=observation.left[:200],
        ended=observation.ended[:200],
        timeline=observation.timeline[:100],
        releases=observation.releases[:100],
        hang_stack=observation.hang_stack[:8000],
    )


def _send_in_parts(outlet: socket.socket, body: bytes) -> None:
    """A recording of a large target is longer than one packet; nobody else sends meanwhile."""
    for start in range(0, len(body), LARGEST):
        outlet.send(body[start : start + LARGEST])
