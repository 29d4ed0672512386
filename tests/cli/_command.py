"""The real command line in a real process, in a directory of its own."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MARK = "FAULTINJECT_TEST_COMMAND"
PATIENCE_S = 30.0
"""Only a test that fails waits for so long."""

LIGHT = '''
import os

class Light:
    """Leaks its descriptor when what follows fails."""
    def __init__(self):
        self.fd = os.open(os.devnull, os.O_RDONLY)
        os.getppid()
    def close(self):
        os.close(self.fd)

class Clean:
    def __init__(self):
        self.number = os.getppid()
        os.getpid()
'''


class Command:
    """Runs ``python -m faultinject`` in `directory`, where targets are written to.

    Every process of it inherits a variable by which it is found again, whoever its parent is by then.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.temporary = directory / "tmp"
        self.temporary.mkdir()
        self.mark = uuid.uuid4().hex[:12]
        kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
        self.environment = {
            **kept, MARK: self.mark,
            "PYTHONPATH": str(ROOT), "TMPDIR": str(self.temporary), "TERM": "xterm-256color",
        }  # fmt: skip

    def write(self, name: str, text: str) -> None:
        (self.directory / name).write_text(text)

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "faultinject", *arguments], cwd=self.directory, text=True,
            capture_output=True, env={**self.environment, **environment},
            timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """In a session of its own, as a terminal gives it its own foreground group."""
        return subprocess.Popen(
            [sys.executable, "-m", "faultinject", *arguments], cwd=self.directory, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
            env={**self.environment, **environment}, start_new_session=True,
        )  # fmt: skip

    def processes(self) -> list[int]:
        """Every process that this command started, at any depth, wherever it hangs now."""
        found = []
        wanted = f"{MARK}={self.mark}".encode()
        for process in Path("/proc").iterdir():
            if process.name.isdigit():
                try:
                    if wanted in (process / "environ").read_bytes().split(b"\0"):
                        found.append(int(process.name))
                except OSError:
                    pass
        return found

    def left(self) -> list[str]:
        """What a finished command has left: processes, shared memory, temporary files."""
        shared = [f"/dev/shm/{one.name}" for one in Path("/dev/shm").iterdir() if self.mark in one.name]
        files = [str(one) for one in self.temporary.rglob("*")]
        return [*(f"process {pid}" for pid in self.processes()), *shared, *files]

    def report(self, name: str = "report.json") -> dict[str, Any]:
        return json.loads((self.directory / name).read_text())

    def clean_up(self) -> None:
        """After a test that failed: nothing of it may stay."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Gate:
    """Two named pipes by which a target says that it is there, and waits until it may go on."""

    def __init__(self, command: Command) -> None:
        self.paths = [command.directory / name for name in ("told", "gate")]
        for path in self.paths:
            os.mkfifo(path)
        # Open for both directions: neither end ever waits for the other to come.
        self.told, self.gate = (os.open(path, os.O_RDWR) for path in self.paths)
        self.environment = {"TEST_GATE": str(command.directory)}

    def pass_through(self, number: int) -> None:
        """Let the target through `number` times, each time it says that it is there."""
        for _ in range(number):
            self.await_target()
            os.write(self.gate, b"x")

    def await_target(self) -> None:
        ready, _, _ = select.select([self.told], [], [], PATIENCE_S)
        assert ready, "the target was never reached"
        os.read(self.told, 1)

    def open_for(self, process: subprocess.Popen[str]) -> int:
        """Let everything through until `process` ends; how often the target was there."""
        number = 0
        handle = os.pidfd_open(process.pid)
        try:
            while True:
                ready, _, _ = select.select([self.told, handle], [], [], PATIENCE_S)
                assert ready, "neither the target nor the end was reached"
                if self.told in ready:
                    os.read(self.told, 1)
                    os.write(self.gate, b"x")
                    number += 1
                else:
                    return number
        finally:
            os.close(handle)

    def close(self) -> None:
        os.close(self.told)
        os.close(self.gate)


def verdicts(report: dict[str, Any]) -> dict[str, str]:
    """The last word on each case."""
    return {case["id"]: case["verdict"] for case in report["cases"]}


def one_line(text: str) -> str:
    """The last line of the error stream, the tool's; no traceback of its own stands above it."""
    lines = text.strip().splitlines()
    assert lines, "nothing was said"
    assert f'File "{ROOT / "faultinject"}' not in text, text
    assert lines[-1].startswith("faultinject: "), text
    return lines[-1]
