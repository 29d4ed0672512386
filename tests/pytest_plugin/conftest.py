"""Small projects of their own, in which an inner pytest runs."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path

import pytest

# Imported here, what an inner run in this process needs is not taken out of it again by pytester.
import faultinject.pytest_plugin._cases
import faultinject.pytest_plugin._sweeping
import faultinject.pytest_plugin._xdist  # noqa: F401

CLIENT = '''\
"""A client that keeps what it opened when it cannot greet."""
import os


class Client:
    def __init__(self):
        self.inbox, self.outbox = os.pipe()
        self.greet()

    def greet(self):
        os.write(self.outbox, b"x")

    def close(self):
        os.close(self.inbox)
        os.close(self.outbox)
'''

MENDED = '''\
"""The same client, mended."""
import contextlib
import os


class Client:
    def __init__(self):
        with contextlib.ExitStack() as undo:
            self.inbox, self.outbox = os.pipe()
            undo.callback(os.close, self.inbox)
            undo.callback(os.close, self.outbox)
            self.greet()
            undo.pop_all()

    def greet(self):
        os.write(self.outbox, b"x")

    def close(self):
        os.close(self.inbox)
        os.close(self.outbox)
'''

MATRIX = """\
format = 1
target = "client:Client"
level = "steps"
frame = "client:Client.__init__"

[[owned]]
name = "fds"
step = 1
callee = "posix:pipe"
release = "close"

[[step]]
number = 1
callee = "posix:pipe"
line = 7
verdicts = { "before RuntimeError" = "clean", "after RuntimeError" = "nested leak" }

[[step]]
number = 2
callee = "client:Client.greet"
line = 8
owned = ["fds"]
must_release = ["fds"]
verdicts = { "before RuntimeError" = "leak", "after RuntimeError" = "leak" }
"""

MARKED = """\
import pytest

@pytest.mark.faultinject(target="client:Client", release="close", faults="RuntimeError", repeats=1)
def test_gives_back():
    pass
"""

WITHOUT = [f"-p no:{name}".split() for name in ("randomly", "asyncio", "rerunfailures", "pytest_cov")]
ALONE = [word for words in WITHOUT for word in words]
"""Arguments that leave the other plugins out."""


class Project:
    """A project in a directory of its own, and the inner runs in it."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pytester = pytester
        self.path: Path = pytester.path
        temporary = self.path / "tmp"
        temporary.mkdir()
        for name, value in {"TMPDIR": str(temporary), "COLUMNS": "200", "NO_COLOR": "1"}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_TESTRUNUID", "PYTEST_ADDOPTS"):
            monkeypatch.delenv(name, raising=False)
        self.write("pytest.ini", "[pytest]\naddopts = -p no:cacheprovider\n")
        self.write("client.py", CLIENT)

    def write(self, name: str, text: str) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit_matrix(self, text: str = MATRIX) -> None:
        self.write("matrices/client-Client.toml", text)

    def run(self, *arguments: str, alone: bool = True) -> pytest.RunResult:
        """An inner run in a process of its own."""
        return self.pytester.runpytest_subprocess(*(ALONE if alone else ()), *arguments)

    def look(self, *arguments: str) -> tuple[int, str]:
        """Exit status and output of an inner run in this process, of which nothing is swept.

        Not pytester's own, which has each of them import the whole plugin anew.
        """
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            status = pytest.main([*ALONE, "--capture=no", f"--rootdir={self.path}", *arguments])
        for name in [name for name in sys.modules if name.startswith("test_client")]:
            del sys.modules[name]
        return int(status), output.getvalue()

    def collect(self, *arguments: str) -> list[str]:
        """The ids that are collected."""
        _, output = self.look("--collect-only", "-q", *arguments)
        return [line.partition("::")[2] for line in output.splitlines() if "::" in line]

    def left(self) -> list[str]:
        """Temporary files that a run has left; what pytest itself keeps aside."""
        return [name for name in os.listdir(self.path / "tmp") if name.startswith("faultinject")]


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(pytester, monkeypatch)
