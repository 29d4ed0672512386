"""``vllm:EngineCoreProc``: what an engine's process constructs, in a process that can be swept.

Its launcher is another process, `_vllm_peer`. As of `_vllm`, the executor is in the same process.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys

from faultinject.errors import TargetError
from faultinject.targets._target import Call, Target
from faultinject.targets._vllm import engine_core, prepare_engine_core

NAME = "vllm:EngineCoreProc"

OWN = ("vllm.v1.engine.core:EngineCoreProc.__init__",)

_peers: dict[int, tuple[str, object]] = {}
"""By process: the directory of its peer's sockets, and the peer: two engines have the same identity."""


def target(name: str = NAME) -> Target:
    """The target; vLLM is imported by its first `prepare`, and a peer started by that in each process.

    Args:
        name: what it goes by.

    Raises:
        TargetError: vLLM is not installed.
    """
    return dataclasses.replace(
        engine_core(name),
        prepare=prepare,
        # Not what counts and traces its calls; the engine core is a layer beneath, and a target of its own.
        own=OWN,
        # A forked copy has neither the threads of its sockets' contexts nor can it end these without them.
        screen=False,
    )


def prepare() -> Call:
    """The constructor of an engine's process, and the peer that it shakes hands with.

    Raises:
        TargetError: the peer does not start.
    """
    construct, (config, executor), keywords = prepare_engine_core()
    from vllm.v1.engine.core import EngineCoreProc

    del construct
    arguments = (config, True, f"ipc://{_peer()}/handshake", executor)
    return EngineCoreProc, arguments, dict(keywords)


def _peer() -> str:
    known = _peers.get(os.getpid())
    if known is not None:
        return known[0]
    peer = subprocess.Popen(
        [sys.executable, "-m", "faultinject.targets._vllm_peer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # A Ctrl-C in the terminal is not for it: it goes when the last copy of this process does.
        start_new_session=True,
    )
    assert peer.stdout is not None
    directory = peer.stdout.readline().strip()
    peer.stdout.close()
    if not directory:
        raise TargetError(f"target '{NAME}': the process that stands for its launcher does not start")
    _peers[os.getpid()] = (directory, peer)
    return directory
