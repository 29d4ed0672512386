"""A process that has imported vLLM and built nothing; each check runs in a fork of it.

Started as a program it reads the name of a function a line, of `tests.engine.checks` or ``MODULE.NAME`` of
another module there, runs it in a fork, and writes one line of JSON: what the function returned, or the
traceback that it ended with. Before a name, ``hardened:`` has that fork hardened first.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import engine

ROOT = Path(__file__).resolve().parents[2]

HARDENED = "TESTS_HARDENED"
"""Set in the environment of a check whose process was hardened for it."""


class Forge:
    """Runs checks, each in a process that is as new."""

    def __init__(self, log: Path) -> None:
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.engine._forge"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                text=True,
            )

    def run(self, check: str) -> Any:
        """What the check returned.

        Raises:
            AssertionError: it ended with an exception, or its process died.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(check + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"the process ended: {self.log.read_text()[-4000:]}"
        answer = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


def _child(check: str, write: int) -> None:
    first, _, place = check.rpartition(":")
    module, _, name = place.rpartition(".")

    try:
        if first == "hardened":
            engine.harden()
            os.environ[HARDENED] = "1"
        checks = importlib.import_module(f"tests.engine.{module or 'checks'}")
        answer = {"result": getattr(checks, name)()}
    except BaseException:
        answer = {"error": traceback.format_exc()}
    os.write(write, json.dumps(answer).encode())
    os._exit(0)


def main() -> None:
    from faultinject.targets._vllm import environment

    os.environ.update(environment())
    # What the checks print, and what vLLM does, goes to the log.
    answers = os.dup(1)
    os.dup2(2, 1)
    from faultinject.targets._vllm import prepare_engine_core

    prepare_engine_core()
    for line in sys.stdin:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            _child(line.strip(), write)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            answer = pipe.read()
        _, status = os.waitpid(pid, 0)
        if not answer:
            answer = json.dumps({"error": f"its process ended with status {status}"}).encode()
        os.write(answers, answer + b"\n")


if __name__ == "__main__":
    main()
