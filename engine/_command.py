"""``hardened-vllm ARGS...``: ``vllm ARGS...`` with the hardening on; and vLLM's plugin of it."""

from __future__ import annotations

import importlib.util
import os
import sys

VARIABLE = "VLLM_HARDENED"
"""Set to 1, the processes that vLLM starts are hardened as well, by whatever way they are started."""


def main() -> None:
    """Run vLLM's own command line, hardened. Exits 2 where that cannot be done."""
    if importlib.util.find_spec("vllm") is None:
        _refuse("vLLM is not installed here: install it, or run this where it is")
    os.environ[VARIABLE] = "1"
    from engine._harden import harden

    done = harden()
    if not done:
        _refuse(
            f"vLLM {done.version} is not hardened, it lacks {', '.join(done.missed)}: "
            "run `vllm` itself, or another version of it"
        )
    from vllm.entrypoints.cli.main import main as run

    sys.argv[0] = "vllm"
    run()


def plugin() -> None:
    """For the entry-point group ``vllm.general_plugins``: hardens where `VARIABLE` is 1, or does nothing."""
    if os.environ.get(VARIABLE) == "1":
        from engine._harden import harden

        harden()


def _refuse(why: str) -> None:
    print(f"hardened-vllm: {why}", file=sys.stderr)
    raise SystemExit(2)
