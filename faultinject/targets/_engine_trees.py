"""The trees of vLLM's processes with `engine.harden` on: ``engine:LLM`` beside ``vllm:LLM``, and so on.

The same arguments, roles and milestones. The milestones are wrapped before the hardening is put on: what is
injected at one comes out of vLLM's own function, and not out of what the hardening has put around it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from faultinject.targets import _vllm_serve
from faultinject.targets import _vllm_trees as upstream
from faultinject.targets._engine import put_hardening_on
from faultinject.targets._target import Call, Target

DEADLINE = 10.0
"""Seconds that a release may take: one ends an engine with its workers, which escalates by itself."""

TRANSACTION = ("engine._transaction:transactional.*", "engine._transaction:OwnershipTransaction.acquire")

ENTRY_POINT = (
    *TRANSACTION,
    "engine._entry_points:*",
    "engine._standin:*",
    "engine.background._client:*",
)
"""What is wrapped around the constructors of an entry point and its client, and what stands there for their
acquisitions."""

OF_THE_GUARDIAN = "temporary files:engine-lifeline-*"
"""Where the lifeline's guardian writes, which is nobody's child and ends when nobody is left to guard."""

EXECUTOR = ("engine._transaction:transactional.*", "engine.multiproc._executor:*")


def llm() -> Target:
    """One engine process, the executor within it.

    Raises:
        TargetError: vLLM is not installed.
    """
    return _hardened(upstream.llm, ENTRY_POINT)


def llm_tp2() -> Target:
    """One engine process and two workers; errors as of `llm`."""
    return _hardened(upstream.llm_tp2, ENTRY_POINT)


def async_llm() -> Target:
    """The asynchronous entry point, with one engine process; errors as of `llm`."""
    return _hardened(upstream.async_llm, ENTRY_POINT)


def multiproc_executor() -> Target:
    """The executor alone, started by the caller, with two workers; errors as of `llm`."""
    return _hardened(upstream.multiproc_executor, EXECUTOR)


def serve() -> Target:
    """The HTTP server, with one engine process; errors as of `llm`."""
    return _hardened(_vllm_serve.target, ())


def _hardened(make: Callable[[], Target], own: tuple[str, ...]) -> Target:
    target = make()
    name = target.name.replace("vllm:", "engine:", 1)
    warm_up = target.warm_up

    def prepare() -> Call:
        put_hardening_on(name, DEADLINE)
        return target.prepare()

    def import_and_harden() -> None:
        if warm_up is not None:
            warm_up()
        put_hardening_on(name, DEADLINE)

    return dataclasses.replace(
        target,
        name=name,
        prepare=prepare,
        warm_up=import_and_harden,
        own=(*target.own, *own),
        ignore=(*target.ignore, OF_THE_GUARDIAN),
    )
