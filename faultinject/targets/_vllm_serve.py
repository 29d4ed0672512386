"""``vllm:serve``: the HTTP server with its engine process, from its arguments to its first answer.

A server does not return. It is asked to end as soon as it answers, as whoever runs it would: by SIGTERM.
"""

from __future__ import annotations

import importlib
import os
import signal
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

from faultinject.targets import _vllm_trees as trees
from faultinject.targets._target import Call, Target
from faultinject.targets._vllm import KV_CACHE_BLOCKS, MODEL
from faultinject.trees import Milestone

SERVING = Milestone("caller", "serving", f"{__name__}:answers")

OWN = (
    f"{__name__}:serve",
    "uvloop:run*",
    "asyncio.runners:Runner.run",
    "vllm.entrypoints.*:run_server*",
    "vllm.entrypoints.*:build_and_serve",
)
"""From here to what the server does: the frames between are those that run a coroutine."""

_BETWEEN = 0.05
"""Seconds between two requests to a server that does not answer yet."""


def target() -> Target:
    """The server, with one engine process.

    Raises:
        TargetError: vLLM is not installed.
    """
    return trees.tree("vllm:serve", prepare, "", 1, OWN, milestones=(*trees.MILESTONES, SERVING))


def prepare() -> Call:
    """Imports vLLM's server, and parses the command line of one with the tiny model, on a free port."""
    trees.quiet()
    server = importlib.import_module("vllm.entrypoints.openai.api_server")
    args = _parsed(
        f"--model {MODEL} --load-format dummy --skip-tokenizer-init --dtype float32 --enforce-eager "
        f"--max-model-len 128 --max-num-seqs 8 --num-gpu-blocks-override {KV_CACHE_BLOCKS} "
        "--disable-log-stats --host 127.0.0.1 --port 0"
    )
    return serve, (server.run_server, importlib.import_module("uvloop").run, args), {}


def serve(run_server: Callable[..., Any], run: Callable[..., Any], args: Any) -> None:
    """Serve until the first answer, then end in order.

    Raises:
        BaseException: what ended the server before it answered.
    """
    server: Any = importlib.import_module(run_server.__module__)
    ports: list[int] = []
    over = threading.Event()
    setup = server.setup_server

    def setup_server(*arguments: Any, **keywords: Any) -> Any:
        # Port 0: the kernel's choice is known only now.
        address, socket = setup(*arguments, **keywords)
        ports.append(socket.getsockname()[1])
        return address, socket

    def ask() -> None:
        while not over.wait(_BETWEEN):
            if ports and _is_up(ports[0]):
                answers()
                os.kill(os.getpid(), signal.SIGTERM)
                return

    server.setup_server = setup_server
    asking = threading.Thread(target=ask, name="asks whether it serves", daemon=True)
    asking.start()
    try:
        run(run_server(args))
    finally:
        over.set()
        server.setup_server = setup


def answers() -> None:
    """The server has answered; a milestone."""


def _is_up(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _parsed(line: str) -> Any:
    try:
        cli_args = importlib.import_module("vllm.entrypoints.launchers.cli_args")
    except ImportError:  # before 0.31
        cli_args = importlib.import_module("vllm.entrypoints.openai.cli_args")
    parser = importlib.import_module("vllm.utils.argparse_utils").FlexibleArgumentParser()
    args = cli_args.make_arg_parser(parser).parse_args(line.split())
    cli_args.validate_parsed_serve_args(args)
    return args
