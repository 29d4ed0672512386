"""Child processes, by subprocess and by multiprocessing."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import time

from tests.corpus._parts import configure
from tests.corpus._specimen import Specimen, at

_FORK = multiprocessing.get_context("fork")
_SLEEP = ["sleep", "50"]
_NULL = subprocess.DEVNULL
_ENVIRONMENT = dict(os.environ)
_NO_STREAMS = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0o600) for stream in range(3)]


class ForgottenProcess:
    """Starts a program; nobody ends it when a later step fails."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(_SLEEP, stdin=_NULL, stdout=_NULL, stderr=_NULL)
        self.size = configure()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


class EndedProcess:
    """The same, done right."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(_SLEEP, stdin=_NULL, stdout=_NULL, stderr=_NULL)
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()


class UnreapedProcess:
    """Kills the program but never waits for it: a zombie stays, and no object is left to reap it."""

    def __init__(self) -> None:
        self._pid = os.posix_spawnp(_SLEEP[0], _SLEEP, _ENVIRONMENT, file_actions=_NO_STREAMS)
        try:
            self.size = configure()
        except BaseException:
            os.kill(self._pid, signal.SIGKILL)
            raise

    def close(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


class ReapedProcess:
    """The same, done right."""

    def __init__(self) -> None:
        self._pid = os.posix_spawnp(_SLEEP[0], _SLEEP, _ENVIRONMENT, file_actions=_NO_STREAMS)
        try:
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


class ForgottenWorker:
    """Starts a multiprocessing child; the daemon flag ends it only at an orderly exit."""

    def __init__(self) -> None:
        self._worker = _FORK.Process(target=time.sleep, args=(50,), daemon=True)
        self._worker.start()
        self.size = configure()

    def close(self) -> None:
        self._worker.kill()
        self._worker.join()
        self._worker.close()


class EndedWorker:
    """The same, done right: also when `start` did its work and did not return."""

    def __init__(self) -> None:
        self._worker: multiprocessing.context.ForkProcess | None = None
        try:
            self._worker = _FORK.Process(target=time.sleep, args=(50,), daemon=True)
            self._worker.start()
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None and worker.pid is not None:
            worker.kill()
            worker.join()
            worker.close()


_ME = "tests.corpus.processes"
SPECIMENS = (
    Specimen(
        f"{_ME}:ForgottenProcess", "process", "a started program is never ended", (at("*:configure", "leak"),)
    ),
    Specimen(f"{_ME}:EndedProcess", "process"),
    Specimen(f"{_ME}:UnreapedProcess", "process", "killed but not waited for", (at("*:configure", "leak"),)),
    Specimen(f"{_ME}:ReapedProcess", "process"),
    Specimen(
        f"{_ME}:ForgottenWorker", "process", "a started child is never ended", (at("*:configure", "leak"),)
    ),
    Specimen(f"{_ME}:EndedWorker", "process"),
)
