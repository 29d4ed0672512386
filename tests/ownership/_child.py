"""Programs that run in an interpreter of their own: for signals, the collector, and limits of a process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parents[2]


def run(program: str) -> subprocess.CompletedProcess[str]:
    """Run `program`, with this repository importable; its output and status."""
    return subprocess.run(
        [sys.executable, "-c", dedent(program)], cwd=ROOT, capture_output=True, text=True, timeout=60
    )


def output(program: str) -> list[str]:
    """The lines that `program` prints; it must succeed and complain of nothing."""
    done = run(program)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()
